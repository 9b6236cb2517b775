-- A clinic: German names, dates as texts, a bridge with a key of two columns.
create table abteilung (abt_nr int primary key, bezeichnung text, stockwerk int, leiter_nr int);
create table arzt (arzt_nr int primary key, nachname text, vorname text, fachgebiet text, eingestellt text,
  gehalt numeric, abt_nr int references abteilung);
create table patient (pat_nr int primary key, nachname text, vorname text, geburtsdatum text, plz text, ort text,
  versicherung text);
create table aufenthalt (auf_nr int primary key, pat_nr int references patient, abt_nr int references abteilung,
  aufnahme text, entlassung text, kosten_eur numeric);
create table diagnose (auf_nr int references aufenthalt, lfd_nr int, icd text, haupt boolean, primary key (auf_nr,
  lfd_nr));
insert into abteilung values (1,'Chirurgie',2,1),(2,'Innere Medizin',3,2),(3,'Kardiologie',3,4),(4,'Paediatrie',1,
  null);
insert into arzt values (1,'Weber','Anna','Chirurgie','01.03.2009',9800,1),(2,'Kraus','Ben','Innere Medizin',
  '15.07.2015',8700,2),
(3,'Weber','Carl','Orthopaedie','01.10.2019',7900,1),(4,'Diehl','Dora','Kardiologie','01.01.2002',10500,3),(5,
  'Ernst','Eva','Kinderheilkunde','01.05.2021',7100,4);
insert into patient values (1,'Fuchs','Gerd','12.04.1950','10115','Berlin','gesetzlich'),(2,'Haas','Ida',
  '30.11.1988','20095','Hamburg','privat'),
(3,'Jung','Karl','05.06.2015','10115','Berlin','gesetzlich'),(4,'Lang','Mia','19.09.1972','80331','Muenchen',
  'privat'),(5,'Fuchs','Nora','01.02.1999','20095','Hamburg','gesetzlich');
insert into aufenthalt values (1,1,3,'02.01.2024','10.01.2024',12500),(2,2,1,'15.02.2024','18.02.2024',4300),(3,3,4,
  '20.02.2024','21.02.2024',900),
(4,1,2,'05.05.2024','12.05.2024',6100),(5,4,1,'11.11.2023','20.11.2023',9900),(6,5,2,'03.06.2024',null,2500),(7,2,1,
  '09.12.2023','10.12.2023',1500);
insert into diagnose values (1,1,'I21',true),(1,2,'E11',false),(2,1,'S82',true),(3,1,'J06',true),(4,1,'E11',true),
  (5,1,'M16',true),(5,2,'I10',false),(6,1,'K29',true),(7,1,'S82',true);
