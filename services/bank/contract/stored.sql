-- SPDX-License-Identifier: Apache-2.0
-- What requests leave behind. Every statement returns one row: request text, traces bigint. A request is that of
-- the mixes, or the part of its name before a hyphen: create-a and create-b leave a client each.

SELECT 'create'::text AS request, count(*)::bigint AS traces FROM client;

-- An opening transaction comes from client 0 and belongs to its client.
SELECT 'transfer'::text AS request, count(*)::bigint AS traces FROM transaction WHERE from_client_id IS DISTINCT FROM 0;
