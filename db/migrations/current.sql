-- Write the next migration here: tables, columns, indexes, data. The last line rolls it back when it leaves a table open.

select control.gate();
