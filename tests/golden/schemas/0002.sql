BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE letter (
	id INTEGER NOT NULL PRIMARY KEY, 
	kind VARCHAR(32) NOT NULL, 
	tail VARCHAR(16) NOT NULL, 
	address VARCHAR(320) NOT NULL, 
	language VARCHAR(5) NOT NULL, 
	zone VARCHAR(64) NOT NULL, 
	player_id INTEGER, 
	match_id INTEGER, 
	seat_id INTEGER, 
	turn_id INTEGER, 
	about JSON NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	due_at DATETIME NOT NULL, 
	created_at DATETIME NOT NULL, 
	sent_at DATETIME, 
	leased_until DATETIME, 
	attempts INTEGER NOT NULL, 
	error VARCHAR(500), 
	CONSTRAINT fk_letter_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_letter_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT fk_letter_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id), 
	CONSTRAINT fk_letter_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id)
);
INSERT INTO "letter" VALUES(1,'invitation','e78a230b01ee677f','bob@players.example','en','Europe/Paris',NULL,1,2,NULL,'{}','stale','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,NULL,1,NULL);
INSERT INTO "letter" VALUES(2,'started','ca352ed84635c47b','bob@players.example','en','Europe/Paris',2,1,2,NULL,'{"ply": 0}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL);
INSERT INTO "letter" VALUES(3,'your_turn','fabdeaf04045c964','ann@players.example','en','Europe/Paris',1,1,1,1,'{}','stale','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,NULL,0,NULL);
INSERT INTO "letter" VALUES(4,'your_turn','654d0a08c7d24ea9','bob@players.example','en','Europe/Paris',2,1,2,2,'{}','stale','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,NULL,0,NULL);
INSERT INTO "letter" VALUES(5,'game_over','282c03ee99a4d28b','ann@players.example','en','Europe/Paris',1,1,1,NULL,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL);
INSERT INTO "letter" VALUES(6,'game_over','6e72b28d8383abf7','bob@players.example','en','Europe/Paris',2,1,2,NULL,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL);
INSERT INTO "letter" VALUES(7,'invitation','a670a6a87cb96044','dan@players.example','en','Europe/Paris',NULL,2,5,NULL,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL);
INSERT INTO "letter" VALUES(8,'your_turn','3b204da40ead4a37','ann@players.example','en','Europe/Paris',1,3,6,3,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL);
CREATE TABLE "match" (
	id INTEGER NOT NULL PRIMARY KEY, 
	code VARCHAR(64) NOT NULL, 
	game VARCHAR(32) NOT NULL, 
	options JSON NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	opener_id INTEGER NOT NULL, 
	draws_seats BOOLEAN NOT NULL, 
	server_key BLOB NOT NULL, 
	commitment VARCHAR(64) NOT NULL, 
	pace_hours INTEGER NOT NULL, 
	opened_at DATETIME NOT NULL, 
	started_at DATETIME, 
	ended_at DATETIME, 
	ply INTEGER NOT NULL, 
	scores JSON, 
	winners JSON, 
	ended VARCHAR(16), 
	CONSTRAINT fk_match_opener_id FOREIGN KEY(opener_id) REFERENCES player (id), 
	CONSTRAINT uq_match_code UNIQUE (code)
);
INSERT INTO "match" VALUES(1,'cosy-coast-691314','biscuit','{"excuse": false, "pawns": false, "courts": false, "partners": false, "target": 0}','over',1,0,X'052CA54239E55751D926F1E4A6314C856E4E85CC7568820513E74FC0FDF00259','bdb80ae5ca5d26a6fd456c676014a912bf292afa6e30a8a53f0fe9cd55caf6f4',72,'2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',1,'[2, 0]','[1]','stopped');
INSERT INTO "match" VALUES(2,'ripe-market-020210','bisque','{"rounds": 6}','open',1,0,X'61FE36843312C83F5ACE3BCE9E5CFBBA54363B6E92C9E23B357E1FBE7BAEA581','7f9bb544f63d6a0f97b24b9b37f60cb124e50f6261447b9a4840c27ef2e03646',72,'2026-12-01 12:00:00.000000',NULL,NULL,0,NULL,NULL,NULL);
INSERT INTO "match" VALUES(3,'happy-gate-33eaf0','biscuit','{"excuse": false, "pawns": false, "courts": false, "partners": false, "target": 0}','running',1,0,X'95D60E9B9BE29ED58EB16BE28C58868F2D102BAA0C3CAE0AF4715A448B7B353B','bc54618ece174abf78ae76ae91e01eff7d100507b1dec5c6fae7cc0b315e7f66',72,'2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,0,'[0, 0]',NULL,NULL);
CREATE TABLE move (
	id INTEGER NOT NULL PRIMARY KEY, 
	match_id INTEGER NOT NULL, 
	ply INTEGER NOT NULL, 
	turn_id INTEGER NOT NULL, 
	seat INTEGER NOT NULL, 
	text VARCHAR(32) NOT NULL, 
	scores JSON NOT NULL, 
	"by" VARCHAR(16) NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT fk_move_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_move_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id), 
	CONSTRAINT uq_move_match_id_ply UNIQUE (match_id, ply), 
	CONSTRAINT uq_move_turn_id UNIQUE (turn_id)
);
INSERT INTO "move" VALUES(1,1,1,1,1,'6SY left','[2, 0]','link','2026-12-01 12:00:00.000000');
CREATE TABLE note (
	id INTEGER NOT NULL PRIMARY KEY, 
	digest VARCHAR(64) NOT NULL, 
	raw BLOB NOT NULL, 
	recipient VARCHAR(320) NOT NULL, 
	return_path VARCHAR(320) NOT NULL, 
	received_at DATETIME NOT NULL, 
	leased_until DATETIME, 
	read_at DATETIME, 
	verdict VARCHAR(16), 
	reason VARCHAR(500), 
	turn_id INTEGER, 
	CONSTRAINT fk_note_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id), 
	CONSTRAINT uq_note_digest UNIQUE (digest)
);
INSERT INTO "note" VALUES(1,'33078de84492593dafc9282c2316899f6df8daf238763df0c37b6b9442552ff2',X'46726F6D3A20616E6E40706C61796572732E6578616D706C650A5375626A6563743A20310A0A310A','g@play.example','ann@players.example','2026-12-01 12:00:00.000000','2026-12-01 12:02:00.000000','2026-12-01 12:00:00.000000','unknown','no address of it holds a token of ours',NULL);
CREATE TABLE "player" (
	id INTEGER NOT NULL PRIMARY KEY, 
	address VARCHAR(320) NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	language VARCHAR(5) NOT NULL, 
	zone VARCHAR(64) NOT NULL, 
	sign_ins INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	plays_forced BOOLEAN NOT NULL, 
	CONSTRAINT uq_player_address UNIQUE (address)
);
INSERT INTO "player" VALUES(1,'ann@players.example','Ann','en','Europe/Paris',0,'2026-12-01 12:00:00.000000',0);
INSERT INTO "player" VALUES(2,'bob@players.example','Bob','en','Europe/Paris',0,'2026-12-01 12:00:00.000000',0);
CREATE TABLE reminder (
	id INTEGER NOT NULL PRIMARY KEY, 
	turn_id INTEGER NOT NULL, 
	deadline DATETIME NOT NULL, 
	step INTEGER NOT NULL, 
	CONSTRAINT fk_reminder_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id), 
	CONSTRAINT uq_reminder_turn_id_deadline_step UNIQUE (turn_id, deadline, step)
);
CREATE TABLE seat (
	id INTEGER NOT NULL PRIMARY KEY, 
	match_id INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	number INTEGER, 
	player_id INTEGER, 
	bot VARCHAR(16), 
	invited VARCHAR(320), 
	name VARCHAR(40), 
	phrase VARCHAR(100) NOT NULL, 
	phrase_at DATETIME, 
	joined_at DATETIME, 
	resigned BOOLEAN NOT NULL, 
	CONSTRAINT fk_seat_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_seat_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT uq_seat_match_id_place UNIQUE (match_id, place), 
	CONSTRAINT uq_seat_match_id_player_id UNIQUE (match_id, player_id)
);
INSERT INTO "seat" VALUES(1,1,1,1,1,NULL,NULL,'Ann','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0);
INSERT INTO "seat" VALUES(2,1,2,2,2,NULL,'bob@players.example','Bob','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0);
INSERT INTO "seat" VALUES(3,2,1,NULL,1,NULL,NULL,'Ann','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0);
INSERT INTO "seat" VALUES(4,2,2,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,0);
INSERT INTO "seat" VALUES(5,2,3,NULL,NULL,NULL,'dan@players.example',NULL,'',NULL,NULL,0);
INSERT INTO "seat" VALUES(6,3,1,1,1,NULL,NULL,'Ann','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0);
INSERT INTO "seat" VALUES(7,3,2,2,NULL,'greedy',NULL,'Bot 1','',NULL,'2026-12-01 12:00:00.000000',0);
CREATE TABLE turn (
	id INTEGER NOT NULL PRIMARY KEY, 
	match_id INTEGER NOT NULL, 
	seat INTEGER NOT NULL, 
	nth INTEGER NOT NULL, 
	ply INTEGER NOT NULL, 
	opened_at DATETIME NOT NULL, 
	deadline DATETIME NOT NULL, 
	closed_at DATETIME, 
	CONSTRAINT fk_turn_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT uq_turn_match_id_seat_nth UNIQUE (match_id, seat, nth)
);
INSERT INTO "turn" VALUES(1,1,1,1,0,'2026-12-01 12:00:00.000000','2026-12-04 12:00:00.000000','2026-12-01 12:00:00.000000');
INSERT INTO "turn" VALUES(2,1,2,1,1,'2026-12-01 12:00:00.000000','2026-12-04 12:00:00.000000','2026-12-01 12:00:00.000000');
INSERT INTO "turn" VALUES(3,3,1,1,0,'2026-12-01 12:00:00.000000','2026-12-04 12:00:00.000000',NULL);
CREATE INDEX ix_seat_player_id ON seat (player_id);
CREATE INDEX ix_turn_due ON turn (deadline) WHERE closed_at IS NULL;
CREATE INDEX ix_letter_match_id ON letter (match_id);
CREATE INDEX ix_letter_state_due_at ON letter (state, due_at);
CREATE INDEX ix_letter_turn_id ON letter (turn_id);
CREATE INDEX ix_note_read_at ON note (read_at, received_at);
COMMIT;
