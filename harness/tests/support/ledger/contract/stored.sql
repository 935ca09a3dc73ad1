-- SPDX-License-Identifier: Apache-2.0
SELECT 'post', count(*) FILTER (WHERE amount > 0) FROM entry;
