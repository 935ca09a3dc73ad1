-- SPDX-License-Identifier: Apache-2.0
-- Optional, after schema.sql on empty tables: the clients 1 to 3 that the mix `independent` names.
INSERT INTO client (name, email, phone) VALUES ('', '', ''), ('', '', ''), ('', '', '');
INSERT INTO transaction (from_client_id, to_client_id, amount)
SELECT 0, id, 1000 FROM client ORDER BY id;
