-- One row an order, with what was paid. A run looks at the last 30 days alone, deletes them and inserts them again; of
-- these, only the orders that differ are told.
{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='order_id') }}

select
    orders.id as order_id,
    orders.user_id as customer_id,
    orders.order_date,
    orders.status,
    coalesce(sum(payments.amount), 0)::bigint as cents
from {{ ref('raw_orders') }} as orders
left join {{ ref('raw_payments') }} as payments on payments.order_id = orders.id
{% if is_incremental() %}
where orders.order_date > (select max(order_date) - 30 from {{ this }})
{% endif %}
group by orders.id, orders.user_id, orders.order_date, orders.status
