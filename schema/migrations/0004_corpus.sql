-- Corpora: documents that a planner may search. A passage is what a search finds; it carries its document's title, so
-- that the title's words count for each.
create table cairn.passage (
  position int not null,
  corpus text not null,
  source text not null,
  title text not null,
  text text not null,
  words tsvector not null generated always as (
    setweight(to_tsvector('pg_catalog.english', title), 'A') || setweight(to_tsvector('pg_catalog.english', text), 'D')
  ) stored,
  primary key (corpus, source, position)
);

create index passage_words on cairn.passage using gin (words);

comment on column cairn.passage.source is
  'Where the document came from: the name of the folder that was loaded, and the file''s path in it.';
