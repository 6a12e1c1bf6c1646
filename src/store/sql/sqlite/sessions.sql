-- SQLite has no sessions: whoever works in the file is a process, and a dead one holds nothing.
select 0 as pid, '' as "transaction", false as writes where false
