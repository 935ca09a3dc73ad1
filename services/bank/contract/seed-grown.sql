-- SPDX-License-Identifier: Apache-2.0
-- Optional, after schema.sql on empty tables: a bank that has been in use. A thousand clients, and a hundred thousand
-- transactions: an opening one for each client, and transfers of 1 between two of them, spread evenly.
INSERT INTO client (name, email, phone) SELECT '', '', '' FROM generate_series(1, 1000);
INSERT INTO transaction (from_client_id, to_client_id, amount)
SELECT CASE WHEN n <= 1000 THEN 0 ELSE 1 + n % 1000 END,
       CASE WHEN n <= 1000 THEN n ELSE 1 + (n + 1 + n / 1000) % 1000 END,
       CASE WHEN n <= 1000 THEN 1000 ELSE 1 END
FROM generate_series(1, 100000) AS n
ORDER BY n;
