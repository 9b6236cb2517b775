-- Solar sites: no declared keys, flags, time stamps, prices with a key of two columns.
create table sites (site_id int primary key, site_name text, region text, installed_kw numeric,
  commissioned_year text, owner_type text);
create table inverters (inverter_id int primary key, site_id int, model text, rated_kw numeric, active boolean,
  last_service date);
create table readings (reading_id int primary key, inverter_id int, reading_ts timestamp, energy_kwh numeric,
  status_code int);
create table faults (fault_id int primary key, inverter_id int, opened_at timestamp, closed_at timestamp,
  severity text, cost numeric);
create table tariffs (region text, valid_from date, price_per_kwh numeric, primary key(region, valid_from));
insert into sites values (1,'Alder Farm','North',500,'2018','private'),(2,'Birch Roof','South',120,'2020',
  'municipal'),(3,'Cedar Field','South',900,'2021','private'),(4,'Dogwood','East',50,'2016','municipal');
insert into inverters values (1,1,'SX-250',250,true,'2024-03-01'),(2,1,'SX-250',250,true,'2023-09-10'),(3,2,'MX-60',
  60,false,'2022-05-05'),(4,2,'MX-60',60,true,'2024-01-20'),(5,3,'SX-450',450,true,null),(6,3,'SX-450',450,true,
  '2024-02-02'),(7,4,'MX-50',50,false,null);
insert into readings values (1,1,'2024-05-01 10:00',120,0),(2,1,'2024-05-01 12:00',180,0),(3,2,'2024-05-01 12:00',0,
  7),(4,4,'2024-05-02 12:00',40,0),(5,5,'2024-05-02 12:00',300,0),(6,6,'2024-06-01 12:00',320,0),(7,6,
  '2024-06-02 12:00',null,3),(8,1,'2024-06-03 12:00',200,0);
insert into faults values (1,2,'2024-04-30 08:00','2024-05-03 17:00','high',1200),(2,3,'2023-11-01 09:00',null,
  'low',null),(3,7,'2024-02-10 10:00','2024-02-11 10:00','high',300),(4,6,'2024-06-02 06:00',null,'medium',null);
insert into tariffs values ('North','2023-01-01',0.11),('North','2024-01-01',0.09),('South','2024-01-01',0.10),
  ('East','2024-01-01',0.12);
