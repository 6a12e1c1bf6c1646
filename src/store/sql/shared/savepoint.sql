savepoint rows
