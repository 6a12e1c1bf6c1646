-- Changes no row, and still needs all that a write needs.
delete from aftercommit.setting where name = 'no setting has this name'
