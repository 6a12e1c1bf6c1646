delete from tally where minute < now() / 60000000 - 2 * 24 * 60
