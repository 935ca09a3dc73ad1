-- SPDX-License-Identifier: Apache-2.0
-- What must hold after a trial. Every statement returns one row: name text, found bigint, expected bigint;
-- the invariant holds when found equals expected. An opening transaction comes from client 0, which nobody is.

-- Money is neither made nor lost: all balances together are what was paid in.
SELECT 'sum_of_balances'::text AS name,
       (SELECT coalesce(sum(t.amount), 0)::bigint FROM transaction t JOIN client c ON c.id = t.to_client_id)
     - (SELECT coalesce(sum(t.amount), 0)::bigint FROM transaction t JOIN client c ON c.id = t.from_client_id) AS found,
       (SELECT coalesce(sum(amount), 0)::bigint FROM transaction WHERE from_client_id = 0) AS expected;

-- A client and its opening transaction exist together or not at all.
SELECT 'clients_without_one_opening_transaction'::text AS name,
       count(*) FILTER (WHERE opened.n IS DISTINCT FROM 1)::bigint AS found,
       0::bigint AS expected
FROM client c
LEFT JOIN (SELECT to_client_id, count(*) AS n FROM transaction WHERE from_client_id = 0 GROUP BY to_client_id) opened
       ON opened.to_client_id = c.id;

-- Both ends of a transaction are clients; only an opening one may come from client 0.
SELECT 'transactions_of_unknown_clients'::text AS name,
       count(*)::bigint AS found,
       0::bigint AS expected
FROM transaction t
LEFT JOIN client sender ON sender.id = t.from_client_id
LEFT JOIN client receiver ON receiver.id = t.to_client_id
WHERE receiver.id IS NULL OR (t.from_client_id IS DISTINCT FROM 0 AND sender.id IS NULL);

-- A transfer moves at least 1; an opening transaction may be of 0.
SELECT 'transfers_that_are_not_positive'::text AS name,
       count(*)::bigint AS found,
       0::bigint AS expected
FROM transaction
WHERE coalesce(amount, 0) <= 0 AND from_client_id IS DISTINCT FROM 0;
