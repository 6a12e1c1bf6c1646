release savepoint rows
