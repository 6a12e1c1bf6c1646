delete from source where topic = $1
