rollback to savepoint rows
