CREATE TABLE accounts (
            id INTEGER PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            service_id BIGINT NOT NULL REFERENCES services
        );
INSERT INTO "accounts" VALUES(1,'released-account',1);
CREATE TABLE balances (
            id INTEGER PRIMARY KEY,
            account_id BIGINT NOT NULL,
            run_id BIGINT,
            read_at DOUBLE PRECISION NOT NULL,
            micros BIGINT NOT NULL
        );
INSERT INTO "balances" VALUES(1,1,1,1700000000.0,1000000000000);
CREATE TABLE holds (
            id INTEGER PRIMARY KEY,
            service_id BIGINT NOT NULL REFERENCES services,
            run_id BIGINT REFERENCES runs,
            purchase_id BIGINT REFERENCES purchases,
            first_number BIGINT NOT NULL,
            last_number BIGINT NOT NULL,
            numbers BLOB NOT NULL
        );
INSERT INTO "holds" VALUES(3,1,NULL,2,14155551000,14155551001,X'78019398B8C79B998181811188410000185201B5');
CREATE TABLE lookups (
            service_id BIGINT NOT NULL,
            number BIGINT NOT NULL,
            outcome_id BIGINT NOT NULL,
            purchase_id BIGINT NOT NULL,
            answered_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (service_id, number)
        ) WITHOUT ROWID;
INSERT INTO "lookups" VALUES(1,14155550000,1,1,1700000000.0);
INSERT INTO "lookups" VALUES(1,14155550001,3,1,1700000000.0);
INSERT INTO "lookups" VALUES(1,14155550002,2,1,1700000000.0);
INSERT INTO "lookups" VALUES(1,14155550003,1,1,1700000000.0);
CREATE TABLE outcomes (
            id INTEGER PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            status TEXT NOT NULL,
            carrier TEXT NOT NULL,
            underlying_carrier TEXT NOT NULL,
            number_type TEXT NOT NULL,
            country_code TEXT NOT NULL,
            region TEXT NOT NULL,
            city TEXT NOT NULL
        );
INSERT INTO "outcomes" VALUES(1,'d0a72d01efe17f696d7aee14e2b30373','found','NA','','mobile','NA','Khomas','Windhoek');
INSERT INTO "outcomes" VALUES(2,'d25dd2aaf3004dc91d8cc5077e4613b5','unallocated','','','','','','');
INSERT INTO "outcomes" VALUES(3,'ddc09b020dfa22e7da1f1590639f64be','found','移动','x''y','mobile','CN','','');
CREATE TABLE payloads (
            purchase_id BIGINT PRIMARY KEY REFERENCES purchases,
            body BLOB NOT NULL
        );
INSERT INTO "payloads" VALUES(2,X'7801D3363431340502430303032E6D04C710003D4604B8');
CREATE TABLE purchases (
            id INTEGER PRIMARY KEY,
            account_id BIGINT NOT NULL REFERENCES accounts,
            run_id BIGINT NOT NULL REFERENCES runs,
            budget TEXT NOT NULL,
            kind TEXT NOT NULL,
            product TEXT,
            country TEXT,
            count BIGINT NOT NULL,
            digest TEXT NOT NULL,
            generation BIGINT NOT NULL,
            idempotency_key TEXT NOT NULL,
            highest_cost BIGINT,
            charged BIGINT,
            state TEXT NOT NULL,
            task_id TEXT,
            success_count BIGINT,
            excluded_count BIGINT,
            created_at DOUBLE PRECISION NOT NULL,
            responded_at DOUBLE PRECISION,
            polled_at DOUBLE PRECISION,
            closed_at DOUBLE PRECISION,
            note TEXT
        , numbering TEXT);
INSERT INTO "purchases" VALUES(1,1,1,'test','multi_check',NULL,NULL,4,'2fa1b6690548110150d885e726bd12166d1447a8b8ca200f0aa5b2fea3d78a6c',1,'carrier-enrich-2fa1b6690548110150d885e726bd12166d1447a8b8ca200f0aa5b2fea3d78a6c-1',4000,3000,'collected',NULL,NULL,NULL,1700000000.0,1700000000.0,NULL,1700000000.0,NULL,'phonenumbers 9.0.43');
INSERT INTO "purchases" VALUES(2,1,1,'test','bulk_task','carrier_batch','US',2,'8525dcd92e8a67973d739887d81a68ade3798ce16eabe0525bede59de7d6bf32',1,'carrier-enrich-8525dcd92e8a67973d739887d81a68ade3798ce16eabe0525bede59de7d6bf32-1',2000,NULL,'submitted','t-1',NULL,NULL,1700000000.0,1700000000.0,1700000000.0,NULL,NULL,'phonenumbers 9.0.43');
CREATE TABLE runs (
            id INTEGER PRIMARY KEY,
            account_id BIGINT NOT NULL REFERENCES accounts,
            host TEXT NOT NULL,
            pid BIGINT NOT NULL,
            started_at DOUBLE PRECISION NOT NULL,
            heartbeat_at DOUBLE PRECISION NOT NULL,
            ended_at DOUBLE PRECISION
        );
INSERT INTO "runs" VALUES(1,1,'released-host',1,1700000000.0,1700000000.0,1700000000.0);
CREATE TABLE schema_steps (step BIGINT PRIMARY KEY);
INSERT INTO "schema_steps" VALUES(1);
INSERT INTO "schema_steps" VALUES(2);
CREATE TABLE services (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
INSERT INTO "services" VALUES(1,'released-service');
CREATE TABLE slots (
            account_id BIGINT NOT NULL,
            slot BIGINT NOT NULL,
            run_id BIGINT NOT NULL,
            PRIMARY KEY (account_id, slot)
        );
CREATE INDEX runs_alive ON runs (account_id, ended_at);
CREATE INDEX purchases_state ON purchases (account_id, state);
CREATE INDEX purchases_exposed ON purchases (account_id, responded_at);
CREATE INDEX purchases_budget ON purchases (budget);
CREATE INDEX purchases_digest ON purchases (account_id, digest);
CREATE INDEX holds_service ON holds (service_id, first_number);
CREATE INDEX holds_run ON holds (run_id);
CREATE INDEX holds_purchase ON holds (purchase_id);
CREATE INDEX balances_read ON balances (account_id, read_at);
