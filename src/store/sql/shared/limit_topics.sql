update aftercommit.topic set max_payload_bytes = $1 where max_payload_bytes <> $1
