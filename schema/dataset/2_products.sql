-- The sample's products.
create table sample_shop.products (
  product_id integer primary key,
  name text not null,
  category text not null,
  net_price numeric(8, 2) not null
);
comment on table sample_shop.products is 'What the shops sell, one row each: articles, items, goods.';
comment on column sample_shop.products.product_id is 'The number of the product.';
comment on column sample_shop.products.name is 'What the product is called.';
comment on column sample_shop.products.category is 'The kind of product: light, bag, tool, lock, wear or part.';
comment on column sample_shop.products.net_price is
  'The price of one piece in euro, without value added tax: what the shop asks, before any rebate.';
insert into sample_shop.products values
  (1, 'Trail Lamp', 'light', 49.90),
  (2, 'City Lamp', 'light', 24.50),
  (3, 'Pannier', 'bag', 64.00),
  (4, 'Handlebar Bag', 'bag', 38.00),
  (5, 'Floor Pump', 'tool', 32.90),
  (6, 'Mini Pump', 'tool', 18.40),
  (7, 'Multi Tool', 'tool', 21.00),
  (8, 'Patch Kit', 'tool', 5.60),
  (9, 'Chain Lock', 'lock', 44.00),
  (10, 'U-Lock', 'lock', 52.50),
  (11, 'Rain Cape', 'wear', 39.90),
  (12, 'Helmet', 'wear', 69.00),
  (13, 'Gloves', 'wear', 19.90),
  (14, 'Brass Bell', 'part', 12.80),
  (15, 'Touring Saddle', 'part', 84.00),
  (16, 'Bottle Cage', 'part', 9.70);
