-- Topic, table or query, and how its rows are told apart.
select aftercommit.attach(
    $2, $1, array(select json_array_elements_text($4::text::json)), $5,
    array(select json_array_elements_text($6::text::json)), $7, $3, $8::bigint <> 0
) is null as attached
