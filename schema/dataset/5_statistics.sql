-- Counts of rows that are right at once, not only when autovacuum has come by: they are shown with the tables.
analyze sample_shop.shops, sample_shop.products, sample_shop.orders;
