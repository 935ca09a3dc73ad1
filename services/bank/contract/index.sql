-- SPDX-License-Identifier: Apache-2.0
-- Optional, after schema.sql: without these every balance reads the whole table.
CREATE INDEX transaction_from_client_id ON transaction (from_client_id);
CREATE INDEX transaction_to_client_id ON transaction (to_client_id);
