-- SPDX-License-Identifier: Apache-2.0
SELECT 'sum of all amounts', coalesce(sum(amount), 0), 0::bigint FROM entry;
