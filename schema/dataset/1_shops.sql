-- The sample's shops: eight of a chain that sells what cyclists need.
create table sample_shop.shops (
  shop_id integer primary key,
  name text not null,
  city text not null,
  region text not null,
  opened_on date not null
);
comment on table sample_shop.shops is 'The shops of the chain, one row each: stores, branches.';
comment on column sample_shop.shops.shop_id is 'The number of the shop.';
comment on column sample_shop.shops.name is 'What the shop is called.';
comment on column sample_shop.shops.city is 'The city or town where the shop stands.';
comment on column sample_shop.shops.region is
  'The part of the country the shop belongs to: north, east, south or west.';
comment on column sample_shop.shops.opened_on is 'The day when the shop opened.';
insert into sample_shop.shops values
  (1, 'Harbour', 'Hamburg', 'north', '2016-03-01'),
  (2, 'Market Square', 'Bremen', 'north', '2019-05-15'),
  (3, 'Canal Side', 'Berlin', 'east', '2014-09-01'),
  (4, 'Station', 'Leipzig', 'east', '2020-02-10'),
  (5, 'Old Town', 'Munich', 'south', '2015-04-20'),
  (6, 'Hillside', 'Stuttgart', 'south', '2018-08-01'),
  (7, 'Cathedral', 'Cologne', 'west', '2013-06-12'),
  (8, 'Riverbank', 'Frankfurt', 'west', '2021-10-04');
