BEGIN TRANSACTION;
CREATE TABLE absence (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	player_id INTEGER NOT NULL, 
	starts_at DATETIME NOT NULL, 
	ends_at DATETIME NOT NULL, 
	made_at DATETIME NOT NULL, 
	CONSTRAINT fk_absence_player_id FOREIGN KEY(player_id) REFERENCES player (id)
);
CREATE TABLE address (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	player_id INTEGER NOT NULL, 
	address VARCHAR(320) NOT NULL, 
	added_at DATETIME NOT NULL, 
	CONSTRAINT fk_address_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT uq_address_address UNIQUE (address)
);
INSERT INTO "address" VALUES(1,1,'ann@players.example','2026-12-01 12:00:00.000000');
INSERT INTO "address" VALUES(2,2,'bob@players.example','2026-12-01 12:00:00.000000');
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0015');
CREATE TABLE attempt (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	what VARCHAR(16) NOT NULL, 
	who VARCHAR(32) NOT NULL, 
	since DATETIME NOT NULL, 
	times INTEGER NOT NULL, 
	CONSTRAINT uq_attempt_what_who_since UNIQUE (what, who, since)
);
INSERT INTO "attempt" VALUES(1,'tables','7fa494bd70313b80aaf71e42baecba63','2026-12-01 00:00:00.000000',3);
CREATE TABLE beat (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DATETIME NOT NULL
);
INSERT INTO "beat" VALUES(1,'2026-12-01 12:00:00.000000');
INSERT INTO "beat" VALUES(2,'2026-12-01 12:00:00.000000');
CREATE TABLE heard (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	talk_id INTEGER NOT NULL, 
	letter_id INTEGER NOT NULL, 
	seat_id INTEGER NOT NULL, 
	CONSTRAINT fk_heard_talk_id FOREIGN KEY(talk_id) REFERENCES talk (id), 
	CONSTRAINT fk_heard_letter_id FOREIGN KEY(letter_id) REFERENCES letter (id), 
	CONSTRAINT fk_heard_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id), 
	CONSTRAINT uq_heard_letter_id_talk_id UNIQUE (letter_id, talk_id)
);
CREATE TABLE "letter" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
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
	wanted_at DATETIME NOT NULL, soft_bounced_at DATETIME, 
	CONSTRAINT fk_letter_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id), 
	CONSTRAINT fk_letter_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT fk_letter_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_letter_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id)
);
INSERT INTO "letter" VALUES(1,'invitation','a228697963edde7e','bob@players.example','en','Europe/Paris',NULL,1,2,NULL,'{}','stale','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,NULL,1,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(2,'started','3fed6cfe1fb4a5ea','bob@players.example','en','Europe/Paris',2,1,2,NULL,'{"ply": 0}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(3,'your_turn','bc72b615fb40fa77','ann@players.example','en','Europe/Paris',1,1,1,1,'{}','stale','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,NULL,0,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(4,'your_turn','e7be1aaaaddc96c4','bob@players.example','en','Europe/Paris',2,1,2,2,'{}','stale','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,NULL,0,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(5,'game_over','cad6b6ecafb190c5','ann@players.example','en','Europe/Paris',1,1,1,NULL,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(6,'game_over','4d0cbee26a9f6ffb','bob@players.example','en','Europe/Paris',2,1,2,NULL,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(7,'invitation','554439abcba32536','dan@players.example','en','Europe/Paris',NULL,2,5,NULL,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL,'2026-12-01 12:00:00.000000',NULL);
INSERT INTO "letter" VALUES(8,'your_turn','6f1dd60c69fa14eb','ann@players.example','en','Europe/Paris',1,3,6,3,'{}','sent','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,1,NULL,'2026-12-01 12:00:00.000000',NULL);
CREATE TABLE mailbox (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	folder VARCHAR(500) NOT NULL, 
	uid_validity BIGINT NOT NULL, 
	last_uid BIGINT NOT NULL, 
	polled_at DATETIME NOT NULL, 
	CONSTRAINT uq_mailbox_folder UNIQUE (folder)
);
CREATE TABLE "match" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
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
	bank_hours INTEGER NOT NULL, 
	weekends BOOLEAN NOT NULL, 
	policy VARCHAR(8) NOT NULL, 
	paused_at DATETIME, 
	rematch_of INTEGER, 
	is_listed BOOLEAN NOT NULL, 
	allows_whispers BOOLEAN NOT NULL, 
	CONSTRAINT fk_match_opener_id FOREIGN KEY(opener_id) REFERENCES player (id), 
	CONSTRAINT uq_match_code UNIQUE (code), 
	CONSTRAINT fk_match_rematch_of_match FOREIGN KEY(rematch_of) REFERENCES "match" (id), 
	CONSTRAINT uq_match_rematch_of UNIQUE (rematch_of)
);
INSERT INTO "match" VALUES(1,'golden-quarry-ced302','biscuit','{"excuse": false, "pawns": false, "courts": false, "partners": false, "target": 0}','over',1,0,X'7984224827E7951F8284C41D1A304CD10942F8D281508585882462239B21B7CE','b33f76c20b9ac94e363651530d4ae3c82f0a804c4b0c9faa4f605afb2132aa67',72,'2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',1,'[2, 0]','[1]','stopped',0,0,'house',NULL,NULL,0,0);
INSERT INTO "match" VALUES(2,'soft-pine-25cf22','bisque','{"rounds": 6}','open',1,0,X'F8856C694895D135DDE834D9AF7F22F74D71F078898A16B5631E58F581C9A9F6','383974fc40900ae7d20ffedf246259dec36da54ec1f03d96c199a45023e49a52',72,'2026-12-01 12:00:00.000000',NULL,NULL,0,NULL,NULL,NULL,72,0,'house',NULL,NULL,0,0);
INSERT INTO "match" VALUES(3,'tidy-quarry-874045','biscuit','{"excuse": false, "pawns": false, "courts": false, "partners": false, "target": 0}','running',1,0,X'7C0749B18FE2CEB7BA7571E0F869813112D38A633223F89D27DC2C1FF2D023EC','3621ab33783d41c1ee75b5763a41efbcc98ab99be97d59763ccf79186259029b',72,'2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',NULL,0,'[0, 0]',NULL,NULL,0,0,'house',NULL,NULL,0,0);
CREATE TABLE "move" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	match_id INTEGER NOT NULL, 
	ply INTEGER NOT NULL, 
	turn_id INTEGER NOT NULL, 
	seat INTEGER NOT NULL, 
	text VARCHAR(32) NOT NULL, 
	scores JSON NOT NULL, 
	"by" VARCHAR(16) NOT NULL, 
	at DATETIME NOT NULL, 
	bank_taken INTEGER NOT NULL, 
	CONSTRAINT fk_move_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id), 
	CONSTRAINT uq_move_turn_id UNIQUE (turn_id), 
	CONSTRAINT uq_move_match_id_ply UNIQUE (match_id, ply), 
	CONSTRAINT fk_move_match_id FOREIGN KEY(match_id) REFERENCES "match" (id)
);
INSERT INTO "move" VALUES(1,1,1,1,1,'2WL left','[2, 0]','link','2026-12-01 12:00:00.000000',0);
CREATE TABLE mute (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	player_id INTEGER NOT NULL, 
	muted_id INTEGER NOT NULL, 
	CONSTRAINT fk_mute_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT fk_mute_muted_id FOREIGN KEY(muted_id) REFERENCES player (id), 
	CONSTRAINT uq_mute_player_id_muted_id UNIQUE (player_id, muted_id)
);
CREATE TABLE note (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
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
CREATE TABLE notice (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	match_id INTEGER NOT NULL, 
	what VARCHAR(16) NOT NULL, 
	about JSON NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT fk_notice_match_id FOREIGN KEY(match_id) REFERENCES "match" (id)
);
CREATE TABLE "player" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	address VARCHAR(320) NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	language VARCHAR(5) NOT NULL, 
	zone VARCHAR(64) NOT NULL, 
	sign_ins INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	plays_forced BOOLEAN NOT NULL, 
	quiet_from INTEGER, 
	quiet_until INTEGER, 
	reminder_steps JSON NOT NULL, 
	digest_at INTEGER, 
	digested_at DATETIME, 
	entries VARCHAR(8) NOT NULL, 
	unreachable_at DATETIME, 
	unreachable_why VARCHAR(200), 
	offers_absence BOOLEAN NOT NULL, 
	mails JSON NOT NULL, 
	moves_by_mail BOOLEAN NOT NULL, 
	has_page BOOLEAN NOT NULL, 
	deleted_at DATETIME, 
	wants_hints BOOLEAN NOT NULL, 
	sign_outs INTEGER NOT NULL, 
	renewed INTEGER NOT NULL, 
	CONSTRAINT uq_player_address UNIQUE (address)
);
INSERT INTO "player" VALUES(1,'ann@players.example','Ann','en','Europe/Paris',0,'2026-12-01 12:00:00.000000',0,NULL,NULL,'[24, 0]',NULL,NULL,'attached',NULL,NULL,0,'{}',0,0,NULL,0,0,0);
INSERT INTO "player" VALUES(2,'bob@players.example','Bob','en','Europe/Paris',0,'2026-12-01 12:00:00.000000',0,NULL,NULL,'[24, 0]',NULL,NULL,'attached',NULL,NULL,0,'{}',0,0,NULL,0,0,0);
CREATE TABLE private_note (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	seat_id INTEGER NOT NULL, 
	player_id INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT fk_private_note_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id), 
	CONSTRAINT fk_private_note_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT uq_private_note_seat_id_player_id UNIQUE (seat_id, player_id)
);
CREATE TABLE proposal (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	match_id INTEGER NOT NULL, 
	seat_id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	about JSON NOT NULL, 
	yes JSON NOT NULL, 
	made_at DATETIME NOT NULL, 
	closed_at DATETIME, 
	result VARCHAR(8), 
	CONSTRAINT fk_proposal_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_proposal_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id)
);
CREATE TABLE reminder (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	turn_id INTEGER NOT NULL, 
	deadline DATETIME NOT NULL, 
	step INTEGER NOT NULL, 
	CONSTRAINT fk_reminder_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id), 
	CONSTRAINT uq_reminder_turn_id_deadline_step UNIQUE (turn_id, deadline, step)
);
CREATE TABLE "seat" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
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
	bank_left INTEGER NOT NULL, 
	misses INTEGER NOT NULL, 
	is_kept BOOLEAN NOT NULL, 
	is_free BOOLEAN NOT NULL, 
	taken_over BOOLEAN NOT NULL, 
	held_at DATETIME, 
	renewed INTEGER NOT NULL, 
	CONSTRAINT fk_seat_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT uq_seat_match_id_player_id UNIQUE (match_id, player_id), 
	CONSTRAINT uq_seat_match_id_place UNIQUE (match_id, place), 
	CONSTRAINT fk_seat_match_id FOREIGN KEY(match_id) REFERENCES "match" (id)
);
INSERT INTO "seat" VALUES(1,1,1,1,1,NULL,NULL,'Ann','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0,0,0,0,0,0,NULL,0);
INSERT INTO "seat" VALUES(2,1,2,2,2,NULL,'bob@players.example','Bob','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0,0,0,0,0,0,NULL,0);
INSERT INTO "seat" VALUES(3,2,1,NULL,1,NULL,NULL,'Ann','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0,0,0,0,0,0,NULL,0);
INSERT INTO "seat" VALUES(4,2,2,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,0,0,0,0,0,0,NULL,0);
INSERT INTO "seat" VALUES(5,2,3,NULL,NULL,NULL,'dan@players.example',NULL,'',NULL,NULL,0,0,0,0,0,0,NULL,0);
INSERT INTO "seat" VALUES(6,3,1,1,1,NULL,NULL,'Ann','','2026-12-01 12:00:00.000000','2026-12-01 12:00:00.000000',0,0,0,0,0,0,NULL,0);
INSERT INTO "seat" VALUES(7,3,2,2,NULL,'greedy',NULL,'Bot 1','',NULL,'2026-12-01 12:00:00.000000',0,0,0,0,0,0,NULL,0);
CREATE TABLE standing_order (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	seat_id INTEGER NOT NULL, 
	player_id INTEGER NOT NULL, 
	hand INTEGER NOT NULL, 
	text VARCHAR(200) NOT NULL, 
	given_at DATETIME NOT NULL, 
	ended_at DATETIME, 
	ply INTEGER, 
	CONSTRAINT fk_standing_order_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id), 
	CONSTRAINT fk_standing_order_player_id FOREIGN KEY(player_id) REFERENCES player (id)
);
CREATE TABLE suppression (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	address VARCHAR(320) NOT NULL, 
	why VARCHAR(16) NOT NULL, 
	made_at DATETIME NOT NULL, 
	CONSTRAINT uq_suppression_address UNIQUE (address)
);
CREATE TABLE talk (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	match_id INTEGER NOT NULL, 
	seat_id INTEGER NOT NULL, 
	player_id INTEGER NOT NULL, 
	to_id INTEGER, 
	text TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	note_id INTEGER, 
	nth INTEGER NOT NULL, 
	hidden_at DATETIME, 
	CONSTRAINT fk_talk_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_talk_seat_id FOREIGN KEY(seat_id) REFERENCES seat (id), 
	CONSTRAINT fk_talk_player_id FOREIGN KEY(player_id) REFERENCES player (id), 
	CONSTRAINT fk_talk_to_id FOREIGN KEY(to_id) REFERENCES player (id), 
	CONSTRAINT fk_talk_note_id FOREIGN KEY(note_id) REFERENCES note (id), 
	CONSTRAINT uq_talk_note_id_nth UNIQUE (note_id, nth)
);
INSERT INTO "talk" VALUES(1,3,6,1,NULL,'hello','2026-12-01 12:00:00.000000',NULL,0,NULL);
CREATE TABLE "turn" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	match_id INTEGER NOT NULL, 
	seat INTEGER NOT NULL, 
	nth INTEGER NOT NULL, 
	ply INTEGER NOT NULL, 
	opened_at DATETIME NOT NULL, 
	deadline DATETIME NOT NULL, 
	closed_at DATETIME, 
	extra INTEGER NOT NULL, 
	stops JSON NOT NULL, 
	sequence INTEGER NOT NULL, is_house BOOLEAN DEFAULT 0 NOT NULL, came_forward BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT fk_turn_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT uq_turn_match_id_seat_nth UNIQUE (match_id, seat, nth)
);
INSERT INTO "turn" VALUES(1,1,1,1,0,'2026-12-01 12:00:00.000000','2026-12-04 12:00:00.000000','2026-12-01 12:00:00.000000',0,'[]',0,0,0);
INSERT INTO "turn" VALUES(2,1,2,1,1,'2026-12-01 12:00:00.000000','2026-12-04 12:00:00.000000','2026-12-01 12:00:00.000000',0,'[]',0,0,0);
INSERT INTO "turn" VALUES(3,3,1,1,0,'2026-12-01 12:00:00.000000','2026-12-04 12:00:00.000000',NULL,0,'[]',0,0,0);
CREATE TABLE withdrawn_move (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	match_id INTEGER NOT NULL, 
	ply INTEGER NOT NULL, 
	turn_id INTEGER NOT NULL, 
	seat INTEGER NOT NULL, 
	text VARCHAR(32) NOT NULL, 
	"by" VARCHAR(16) NOT NULL, 
	at DATETIME NOT NULL, 
	withdrawn_at DATETIME NOT NULL, 
	CONSTRAINT fk_withdrawn_move_match_id FOREIGN KEY(match_id) REFERENCES "match" (id), 
	CONSTRAINT fk_withdrawn_move_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id)
);
CREATE INDEX ix_note_read_at ON note (read_at, received_at);
CREATE INDEX ix_turn_due ON turn (deadline) WHERE closed_at IS NULL;
CREATE INDEX ix_letter_turn_id ON letter (turn_id);
CREATE INDEX ix_letter_state_due_at ON letter (state, due_at);
CREATE INDEX ix_letter_match_id ON letter (match_id);
CREATE INDEX ix_absence_player_id ON absence (player_id);
CREATE INDEX ix_proposal_match_id ON proposal (match_id);
CREATE INDEX ix_letter_soft ON letter (address, soft_bounced_at) WHERE soft_bounced_at IS NOT NULL;
CREATE INDEX ix_notice_match_id ON notice (match_id);
CREATE INDEX ix_address_player_id ON address (player_id);
CREATE INDEX ix_withdrawn_move_match_id ON withdrawn_move (match_id);
CREATE INDEX ix_standing_order_seat_id ON standing_order (seat_id);
CREATE INDEX ix_match_listed ON "match" (opened_at) WHERE is_listed AND status = 'open';
CREATE INDEX ix_talk_match_id ON talk (match_id);
CREATE INDEX ix_talk_player_id ON talk (player_id);
CREATE INDEX ix_heard_talk_id ON heard (talk_id);
CREATE INDEX ix_heard_seat_id ON heard (seat_id);
CREATE INDEX ix_private_note_player_id ON private_note (player_id);
CREATE INDEX ix_seat_player_id ON seat (player_id);
CREATE INDEX ix_turn_house ON turn (id) WHERE closed_at IS NULL AND is_house = 1;
CREATE INDEX ix_turn_came_forward ON turn (id) WHERE closed_at IS NULL AND came_forward = 1;
CREATE INDEX ix_match_opener_id ON "match" (opener_id);
CREATE INDEX ix_match_open ON "match" (opened_at) WHERE status = 'open';
CREATE INDEX ix_letter_address ON letter (address, created_at) WHERE turn_id IS NULL;
CREATE INDEX ix_letter_player_id_state ON letter (player_id, state);
CREATE INDEX ix_letter_sent_at ON letter (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX ix_player_half ON player (id) WHERE CAST(reminder_steps AS VARCHAR) LIKE '%-1%';
CREATE INDEX ix_player_daily ON player (id) WHERE digest_at IS NOT NULL;
CREATE INDEX ix_player_unreachable ON player (id) WHERE unreachable_at IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('turn',3);
INSERT INTO "sqlite_sequence" VALUES('letter',8);
INSERT INTO "sqlite_sequence" VALUES('address',2);
INSERT INTO "sqlite_sequence" VALUES('move',1);
INSERT INTO "sqlite_sequence" VALUES('match',3);
INSERT INTO "sqlite_sequence" VALUES('player',2);
INSERT INTO "sqlite_sequence" VALUES('seat',7);
INSERT INTO "sqlite_sequence" VALUES('attempt',1);
INSERT INTO "sqlite_sequence" VALUES('beat',2);
INSERT INTO "sqlite_sequence" VALUES('note',1);
INSERT INTO "sqlite_sequence" VALUES('talk',1);
COMMIT;
