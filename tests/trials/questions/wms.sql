-- A warehouse: shortened names, orders with a key of two columns.
create table whs (whs_cd char(3) primary key, whs_nm varchar(40), ctry_cd char(2), cap_m3 numeric);
create table itm (itm_no varchar(10) primary key, itm_desc varchar(60), uom varchar(4), unt_prc numeric,
  disc_flg char(1), wgt_kg numeric);
create table stk (whs_cd char(3) references whs, itm_no varchar(10) references itm, qty_oh int, qty_rsv int,
  reord_lvl int, primary key (whs_cd, itm_no));
create table ord_hdr (cmp int, ord_no int, cust_nm varchar(40), ord_dt date, sts varchar(1), primary key (cmp,
  ord_no));
create table ord_ln (cmp int, ord_no int, ln_no int, itm_no varchar(10) references itm, qty int, prc numeric,
  ship_dt timestamp, primary key (cmp, ord_no, ln_no), foreign key (cmp, ord_no) references ord_hdr);
insert into whs values ('RTM','Rotterdam','NL',9000),('HAM','Hamburg','DE',7000),('LYO','Lyon','FR',4000);
insert into itm values ('A100','Hex bolt M8','PCS',0.20,'N',0.02),('A200','Steel plate','PCS',45,'N',12),('B300',
  'Hydraulic oil','L',9.5,'N',0.9),('B400','Old gasket','PCS',1.1,'Y',0.05);
insert into stk values ('RTM','A100',10000,2000,5000),('HAM','A100',500,0,2000),('RTM','A200',80,10,20),('LYO',
  'A200',5,5,10),('HAM','B300',300,50,100),('LYO','B400',40,0,0);
insert into ord_hdr values (1,1,'Brandt AG','2024-01-10','C'),(1,2,'Leroy SA','2024-02-03','O'),(2,1,'Brandt AG',
  '2024-02-20','C'),(2,2,'Olsen AS','2024-03-15','X'),(2,3,'Leroy SA','2024-03-30','O');
insert into ord_ln values (1,1,1,'A100',1000,0.19,'2024-01-12 08:00'),(1,1,2,'A200',4,44,'2024-01-13 09:00'),(1,2,1,
  'B300',60,9.5,null),(2,1,1,'A200',10,43,'2024-02-25 10:00'),(2,2,1,'B400',20,1.0,null),(2,3,1,'A100',3000,0.18,
  null),(2,3,2,'B300',12,9.4,'2024-04-02 12:00');
