-- A league: two references to one table, names that end alike, dates as texts.
create table club (id serial primary key, name text, city text, founded int, stadium text, seats int);
create table player (id serial primary key, full_name text, nation text, birth_date date,
  club_id int references club, height_cm int, position text, is_captain boolean default false);
create table fixture (id serial primary key, season text, matchday int, home_club_id int references club,
  away_club_id int references club, home_goals int, away_goals int, kickoff timestamptz, attendance int);
create table booking (fixture_id int references fixture, player_id int references player, minute int, card text,
  primary key(fixture_id, player_id, minute));
create table transfer (id serial primary key, player_id int references player, from_club_id int references club,
  to_club_id int references club, fee_millions numeric, transfer_date text);
insert into club(name,city,founded,stadium,seats) values ('Rovers','Leeds',1901,'Moor Lane',21000),('United','Hull',
  1920,'Dockside',15000),('Athletic','York',1899,'Minster Park',18000),('Wanderers','Leeds',1955,'Kirk Road',9000);
insert into player(full_name,nation,birth_date,club_id,height_cm,position,is_captain) values ('Al Reed','England',
  '1990-02-01',1,182,'goalkeeper',true),('Bo Dane','Denmark','1998-07-12',1,176,'striker',false),('Cy Holt',
  'England','2001-01-30',2,190,'defender',true),('Di Santo','Brazil','1995-05-05',3,171,'striker',false),('Ed Moss',
  'Wales','1988-12-24',3,188,'defender',true),('Flo Gray','England','2003-03-03',4,168,'midfielder',false),
  ('Gus Ott','Austria',null,null,180,'striker',false);
insert into fixture(season,matchday,home_club_id,away_club_id,home_goals,away_goals,kickoff,
  attendance) values ('2022/23',1,1,2,3,1,'2022-08-06 15:00+00',18000),('2022/23',1,3,4,0,0,'2022-08-06 15:00+00',
  9000),('2022/23',2,2,3,2,2,'2022-08-13 15:00+00',11000),('2023/24',1,4,1,1,4,'2023-08-05 15:00+00',8900),
  ('2023/24',2,1,3,2,0,'2023-08-12 15:00+00',20500),('2023/24',2,2,4,1,0,'2023-08-12 15:00+00',null);
insert into booking values (1,2,30,'yellow'),(1,3,55,'red'),(2,5,10,'yellow'),(3,3,80,'yellow'),(4,6,22,'yellow'),
  (5,5,70,'red'),(5,2,71,'yellow');
insert into transfer(player_id,from_club_id,to_club_id,fee_millions,transfer_date) values (2,4,1,3.5,'2022-07-01'),
  (4,2,3,1.2,'2023-01-15'),(3,1,2,0.8,'2021-06-30'),(7,3,null,0,'2023-07-01');
