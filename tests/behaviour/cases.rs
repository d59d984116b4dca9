//! One test for each bug of `cases/handed/bugs`, by its number: the same trap in another house, with its own names, types
//! and zones. What is expected was worked out by hand from the rows above it.

use std::time::Duration;

use anyhow::Result;
use thrice_tests::Bench;

use crate::{daily, hourly};

/// A day of 23 hours in Madrid: from 23:00Z on the 30th to 22:00Z on the 31st of March.
#[tokio::test(flavor = "multi_thread")]
async fn case_001_append_on_rerun() -> Result<()> {
    let bench = Bench::new(
        "Europe/Madrid",
        "create schema ventas;
         create table ventas.pedidos (creado timestamptz, importe numeric(10,2));
         insert into ventas.pedidos values ('2024-03-30 22:59:59.999999Z', 1), ('2024-03-30 23:00Z', 2.5),
           ('2024-03-31 10:00Z', 4), ('2024-03-31 21:59:59.999999Z', 8), ('2024-03-31 22:00Z', 16);
         create table ventas.resumen (dia date primary key, pedidos bigint not null, importe numeric(12,2))",
        &[daily(
            "resumen",
            "2024-03-01",
            "ventas.resumen",
            "dia",
            "key = [\"dia\"]\n",
            "select creado::date as dia, count(*) as pedidos, sum(importe) as importe from ventas.pedidos
              where creado >= :interval_start and creado < :interval_end group by 1",
        )],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run resumen 2024-03-31")?.expect_code(0);
        assert_eq!(bench.db.rows("select * from ventas.resumen").await?, ["2024-03-31|3|14.50"]);
    }
    bench.call("run resumen 2024-03-30")?.expect_code(0);
    bench.call("run resumen 2024-04-01")?.expect_code(0);
    let all = ["2024-03-30|1|1.00", "2024-03-31|3|14.50", "2024-04-01|1|16.00"];
    assert_eq!(bench.db.rows("select * from ventas.resumen order by 1").await?, all);
    Ok(())
}

/// Rows as they are, placed by an instant, on a day of 25 hours in New York.
#[tokio::test(flavor = "multi_thread")]
async fn case_001_append_on_rerun_timestamptz_column() -> Result<()> {
    let bench = Bench::new(
        "America/New_York",
        "create schema raw; create schema mart;
         create table raw.click (seen_at timestamptz, visitor uuid, page text);
         insert into raw.click
           select at, '00000000-0000-0000-0000-000000000001', 'p' || extract(epoch from at)
             from generate_series('2024-11-03 03:30Z'::timestamptz, '2024-11-04 05:30Z', '1 hour') at;
         create table mart.clicks (seen_at timestamptz not null, visitor uuid, page text, unique (seen_at, visitor))",
        &[daily(
            "clicks",
            "2024-11-01",
            "mart.clicks",
            "seen_at",
            "key = [\"seen_at\", \"visitor\"]\n",
            "select visitor, page, seen_at from raw.click where seen_at >= :interval_start and seen_at < :interval_end",
        )],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run clicks 2024-11-03")?.expect_code(0);
        let seen =
            bench.db.value("select count(*) || ' ' || min(seen_at) || ' ' || max(seen_at) from mart.clicks").await?;
        assert_eq!(seen, "25 2024-11-03 04:30:00+00 2024-11-04 04:30:00+00");
    }
    bench.call("run clicks 2024-11-02")?.expect_code(0);
    bench.call("run clicks 2024-11-03 2024-11-02")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) from mart.clicks").await?, "26");
    Ok(())
}

/// Rows placed by a local time without a zone; the hour that comes twice is in the day once each.
#[tokio::test(flavor = "multi_thread")]
async fn case_001_append_on_rerun_timestamp_column() -> Result<()> {
    let bench = Bench::new(
        "Pacific/Auckland",
        "create schema kiwi;
         create table kiwi.src (at timestamptz, v int);
         insert into kiwi.src select at, 1 from generate_series('2024-04-06 10:30Z'::timestamptz, '2024-04-07 12:30Z', '1 hour') at;
         create table kiwi.rows (local_at timestamp, v int)",
        &[daily(
            "rows",
            "2024-04-01",
            "kiwi.rows",
            "local_at",
            "",
            "select at::timestamp as local_at, v from kiwi.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run rows 2024-04-07")?.expect_code(0);
        let seen =
            bench.db.value("select count(*) || ' ' || min(local_at) || ' ' || max(local_at) from kiwi.rows").await?;
        // 11:00Z on the 6th to 12:00Z on the 7th: 25 hours
        assert_eq!(seen, "25 2024-04-07 00:30:00 2024-04-07 23:30:00");
    }
    Ok(())
}

/// Korean names everywhere, unquoted where PostgreSQL allows it.
#[tokio::test(flavor = "multi_thread")]
async fn case_001_append_on_rerun_korean_names() -> Result<()> {
    let bench = Bench::new(
        "Asia/Seoul",
        "create schema 매출;
         create table 매출.주문 (\"주문 시각\" timestamptz, 금액 int);
         insert into 매출.주문 values ('2024-02-28 15:00Z', 1000), ('2024-02-29 14:59:59Z', 500), ('2024-02-29 15:00Z', 7);
         create table 매출.\"일별 합계\" (날짜 date, 건수 bigint, 합계 bigint)",
        &[daily(
            "일별_합계",
            "2024-02-01",
            "매출.\"일별 합계\"",
            "날짜",
            "key = [\"날짜\"]\n",
            "select \"주문 시각\"::date as 날짜, count(*) as 건수, sum(금액)::bigint as 합계 from 매출.주문
              where \"주문 시각\" >= :interval_start and \"주문 시각\" < :interval_end group by 1",
        )],
    )
    .await?;
    // a key without a unique index: others could add a second row, and thrice says so
    bench.call("run 일별_합계 2024-02-29")?.expect_code(0).expect_error("TH0412");
    bench.db.execute("create unique index \"하루에 한 줄\" on 매출.\"일별 합계\" (날짜)").await?;
    for _ in 0..3 {
        bench.call("run 일별_합계 2024-02-29")?.expect_code(0);
        assert_eq!(bench.db.rows("select * from 매출.\"일별 합계\"").await?, ["2024-02-29|2|1500"]);
    }
    Ok(())
}

/// The query asks the target how far it has come. Staged before anything is deleted, its answer is that of the start.
#[tokio::test(flavor = "multi_thread")]
async fn case_003_predicate_moves() -> Result<()> {
    let bench = Bench::new(
        "Africa/Nairobi",
        "create schema safari;
         create table safari.sighting (at timestamptz, animals int);
         insert into safari.sighting values ('2023-07-31 20:59Z', 3), ('2023-07-31 21:00Z', 5), ('2023-08-01 08:00Z', 7),
           ('2023-08-01 20:59Z', 11), ('2023-08-01 21:00Z', 13);
         create table safari.per_day (day date, animals bigint);
         insert into safari.per_day values ('2023-07-31', 3), ('2023-08-01', 99)",
        &[daily(
            "per_day",
            "2023-07-01",
            "safari.per_day",
            "day",
            "",
            "select at::date as day, sum(animals) as animals from safari.sighting
              where at::date >= (select max(day) from safari.per_day where day <= :interval_date)
                and at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    bench.call("run per_day 2023-08-01")?.expect_code(5).expect_error("TH0531");
    bench
        .project
        .thrice(["run", "per_day", "2023-08-01", "--overwrite-existing", "--reason", "loaded by hand"])
        .run()?
        .expect_code(0);
    for _ in 0..3 {
        let rows = bench.db.rows("select * from safari.per_day order by 1").await?;
        assert_eq!(rows, ["2023-07-31|3", "2023-08-01|23"]);
        bench.call("run per_day 2023-08-01")?.expect_code(0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_009_delete_then_insert_fails() -> Result<()> {
    let bench = Bench::new(
        "Asia/Kolkata",
        "create schema f;
         create table f.trade (id int, at timestamptz, price float8, volume int);
         insert into f.trade values (1, '2024-01-14 18:30Z', 12, 3), (2, '2024-01-15 10:00Z', 30, 5), (3, '2024-01-15 18:30Z', 1, 1);
         create table f.avg_price (session_day date, price_per_unit float8)",
        &[daily(
            "avg_price",
            "2024-01-01",
            "f.avg_price",
            "session_day",
            "",
            "select at::date as session_day, sum(price::numeric / volume)::float8 as price_per_unit from f.trade
              where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    bench.call("run avg_price 2024-01-15")?.expect_code(0);
    let before = bench.db.rows("select *, xmin from f.avg_price").await?;
    bench.db.execute("update f.trade set volume = 0 where id = 2").await?;
    for _ in 0..3 {
        bench.call("run avg_price 2024-01-15")?.expect_code(8);
        assert_eq!(bench.db.rows("select *, xmin from f.avg_price").await?, before);
    }
    let runs = bench.runs().await?;
    assert_eq!(runs[0], "2024-01-15|1|published||");
    assert_eq!(runs[1..], [2, 3, 4].map(|n| format!("2024-01-15|{n}|failed|permanent|22012")));
    assert_eq!(bench.receipts().await?, ["2024-01-15|1|publish|1"]);
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// The error comes from the target itself, inside the publish transaction, after the delete.
#[tokio::test(flavor = "multi_thread")]
async fn case_009_insert_fails_after_the_delete() -> Result<()> {
    let bench = Bench::new(
        "UTC",
        "create schema f;
         create table f.src (at timestamptz, v int);
         insert into f.src values ('2024-01-15 10:00Z', 5);
         create table f.t (at timestamptz, v int, constraint small check (v < 100))",
        &[daily(
            "t",
            "2024-01-01",
            "f.t",
            "at",
            "",
            "select at, v from f.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    bench.call("run t 2024-01-15")?.expect_code(0);
    bench.db.execute("update f.src set v = 100").await?;
    bench.call("run t 2024-01-15")?.expect_code(8).expect_error("TH0605");
    assert_eq!(bench.db.rows("select v from f.t").await?, ["5"]);
    assert_eq!(bench.runs().await?[1], "2024-01-15|2|failed|permanent|23514");
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// The role thinks in Honolulu and writes dates the German way; the pipeline is Seoul's.
#[tokio::test(flavor = "multi_thread")]
async fn case_011_cast_to_date_in_session_zone() -> Result<()> {
    let query =
        "select at::date as d, to_char(min(at), 'HH24:MI') as first, count(*)::int as n, ('3.2.2024'::text) as mark
                   from z.e where at >= :interval_start and at < :interval_end group by 1";
    let bench = Bench::new(
        "Asia/Seoul",
        "create schema z;
         create table z.e (at timestamptz);
         insert into z.e values ('2024-02-29 14:59:59Z'), ('2024-02-29 15:00Z'), ('2024-03-01 12:00Z'), ('2024-03-01 15:00Z');
         create table z.day (d date, first text, n int, mark text)",
        &[daily("day", "2024-02-01", "z.day", "d", "", query)],
    )
    .await?;
    let (login, url) = bench.worker_login("honolulu").await?;
    bench
        .db
        .execute(&format!(
            "grant usage on schema z to {login}; grant select, insert, delete on all tables in schema z to {login};
             alter role {login} set timezone = 'Pacific/Honolulu'; alter role {login} set datestyle = 'German';
             alter role {login} set intervalstyle = 'sql_standard'; alter role {login} set extra_float_digits = -15"
        ))
        .await?;
    let run = ["run", "day", "2024-03-01", "--json"];
    let as_worker = bench.project.thrice_through(&url, run).run()?.expect_code(0).json()?;
    assert_eq!(bench.db.rows("select * from z.day").await?, ["2024-03-01|00:00|2|3.2.2024"]);
    let as_admin = bench.project.thrice(run).run()?.expect_code(0).json()?;
    assert_eq!(as_admin["items"][0]["outcome"], "unchanged", "{as_admin}");
    assert_eq!(as_admin["items"][0]["checksum"], as_worker["items"][0]["checksum"]);
    Ok(())
}

/// Two targets whose 63-byte names differ in the last letter, and a Korean one of 63 bytes; all three in one call.
#[tokio::test(flavor = "multi_thread")]
async fn case_013_name_of_63_bytes() -> Result<()> {
    let long = "the_quarterly_adjusted_contribution_margin_by_region_and_shop_";
    assert_eq!(long.len(), 62);
    let korean = "매장별일일매출합계를지역과상품별로나눈표임";
    assert_eq!(korean.len(), 63);
    let names = [format!("{long}a"), format!("{long}b"), korean.to_owned()];
    let mut setup = "create schema wide; create table wide.src (at timestamptz, v int);
                     insert into wide.src values ('2024-06-01 06:00Z', 1), ('2024-06-01 07:00Z', 2);"
        .to_owned();
    let mut pipelines = Vec::new();
    for (index, name) in names.iter().enumerate() {
        setup = format!("{setup} create table wide.{name} (at date, v bigint);");
        pipelines.push(daily(
            &format!("p{index}"),
            "2024-06-01",
            &format!("wide.{name}"),
            "at",
            "",
            &format!(
                "select at::date, sum(v) + {index} as v from wide.src where at >= :interval_start and at < :interval_end group by 1"
            ),
        ));
    }
    let bench = Bench::new("America/Caracas", &setup, &pipelines).await?;
    for round in 0..2 {
        let runs: Vec<_> =
            (0..3).map(|n| bench.thrice(&format!("run p{n} 2024-06-01")).start()).collect::<Result<_>>()?;
        for run in runs {
            run.wait_at_most(Duration::from_mins(2))?.expect_code(0);
        }
        for (index, name) in names.iter().enumerate() {
            let rows = bench.db.rows(&format!("select * from wide.{name}")).await?;
            assert_eq!(rows, [format!("2024-06-01|{}", 3 + index)], "round {round}, {name}");
        }
    }
    assert_eq!(bench.db.value("select count(*) from pg_class where relnamespace = 'wide'::regnamespace").await?, "4");
    Ok(())
}

/// Columns that number themselves are left alone; the checksum does not see them.
#[tokio::test(flavor = "multi_thread")]
async fn case_015_identity_always() -> Result<()> {
    let bench = Bench::new(
        "Europe/Lisbon",
        "create schema i;
         create table i.src (at timestamptz, v int);
         insert into i.src values ('2024-07-09 23:00Z', 1), ('2024-07-10 22:59Z', 2), ('2024-07-10 23:00Z', 3);
         create table i.t (id bigint generated always as identity primary key, day date, v int)",
        &[daily(
            "t",
            "2024-07-01",
            "i.t",
            "day",
            "",
            "select at::date as day, v from i.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    let mut checksums = Vec::new();
    for _ in 0..3 {
        let out = bench.call("run t 2024-07-10 --json")?.expect_code(0).json()?;
        checksums.push(out["items"][0]["checksum"].clone());
        assert_eq!(bench.db.rows("select day, v from i.t order by v").await?, ["2024-07-10|1", "2024-07-10|2"]);
        assert_eq!(bench.db.value("select count(distinct id) from i.t where id > 0").await?, "2");
    }
    assert!(checksums.iter().all(|checksum| checksum == &checksums[0] && checksum.is_string()), "{checksums:?}");
    // new rows get new numbers, and the old content with new numbers has the old checksum
    bench.db.execute("update i.src set v = 20 where v = 2").await?;
    bench.call("run t 2024-07-10")?.expect_code(0);
    bench.db.execute("update i.src set v = 2 where v = 20").await?;
    let out = bench.call("run t 2024-07-10 --json")?.expect_code(0).json()?;
    assert_eq!(out["items"][0]["checksum"], checksums[0]);
    assert_eq!(bench.db.rows("select day, v from i.t order by v").await?, ["2024-07-10|1", "2024-07-10|2"]);
    Ok(())
}

/// The query gives the identity column itself: refused before any work, with the column named.
#[tokio::test(flavor = "multi_thread")]
async fn case_015_identity_delivered() -> Result<()> {
    let bench = Bench::new(
        "UTC",
        "create schema i; create table i.src (at timestamptz, v int); insert into i.src values ('2024-07-10Z', 1);
         create table i.t (nr bigint generated always as identity primary key, day date, v int)",
        &[daily(
            "t",
            "2024-07-01",
            "i.t",
            "day",
            "",
            "select 7::bigint as nr, at::date as day, v from i.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    bench.call("run t 2024-07-10")?.expect_code(8).expect_error("TH0602").expect_text("nr");
    assert_eq!(bench.db.value("select count(*) from i.t").await?, "0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_017_select_delivers_generated() -> Result<()> {
    let toml = "";
    let sql = "select at, net, gross from g.src where at >= :interval_start and at < :interval_end";
    let bench = Bench::new(
        "Atlantic/Azores",
        "create schema g;
         create table g.src (at timestamptz, net numeric, gross numeric);
         insert into g.src values ('2024-08-02 12:00Z', 10, 12);
         create table g.bill (at timestamptz, net numeric, gross numeric generated always as (net * 1.2) stored);
         insert into g.bill (at, net) values ('2024-08-01 12:00Z', 1)",
        &[daily("bill", "2024-08-01", "g.bill", "at", toml, sql)],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run bill 2024-08-02")?.expect_code(8).expect_error("TH0602").expect_text("gross");
    }
    assert_eq!(bench.db.rows("select net, gross from g.bill").await?, ["1|1.2"]);
    assert_eq!(bench.runs().await?, [""; 0]);
    // left out, the column makes itself
    bench.project.write(&daily("bill", "2024-08-01", "g.bill", "at", toml, &sql.replace(", gross", "")))?;
    for _ in 0..2 {
        bench.call("run bill 2024-08-02")?.expect_code(0);
        assert_eq!(bench.db.rows("select net, gross from g.bill order by at").await?, ["1|1.2", "10|12.0"]);
    }
    Ok(())
}

/// Dots, quotes, percent signs, spaces, braces and colons in the names of schema, table, columns, index and key.
#[tokio::test(flavor = "multi_thread")]
async fn case_019_quote_and_dot_in_name() -> Result<()> {
    let bench = Bench::new(
        "America/Halifax",
        r#"create schema "Odd ""one"".v1";
           create table "Odd ""one"".v1"."src;--" ("when :at" timestamptz, "50% off" int);
           insert into "Odd ""one"".v1"."src;--" values ('2024-09-01 03:00Z', 4), ('2024-09-02 02:59Z', 6), ('2024-09-02 03:00Z', 9);
           create table "Odd ""one"".v1"."we''ird %s {}.table $1"
             ("Day of ""sale""" date, "sum %1$s" bigint, "İd" int, unique ("İd", "Day of ""sale"""))"#,
        &[daily(
            "odd",
            "2024-09-01",
            r#""Odd ""one"".v1"."we''ird %s {}.table $1""#,
            r#""Day of ""sale""""#,
            "key = ['\"Day of \"\"sale\"\"\"', '\"İd\"']\n",
            r#"select "when :at"::date as "Day of ""sale""", sum("50% off") as "sum %1$s", 1 as "İd"
                 from "Odd ""one"".v1"."src;--" where "when :at" >= :interval_start and "when :at" < :interval_end group by 1"#,
        )],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run odd 2024-09-01")?.expect_code(0);
        let rows = bench.db.rows(r#"select * from "Odd ""one"".v1"."we''ird %s {}.table $1""#).await?;
        assert_eq!(rows, ["2024-09-01|10|1"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_021_no_partition_for_day() -> Result<()> {
    let sql = "select at, v from p.src where at >= :interval_start and at < :interval_end";
    let bench = Bench::new(
        "Asia/Tokyo",
        "create schema p;
         create table p.src (at timestamptz, v int);
         insert into p.src values ('2024-04-29 15:00Z', 1), ('2024-04-30 14:59Z', 2), ('2024-04-30 15:00Z', 3);
         create table p.t (at timestamptz not null, v int) partition by range (at);
         create table p.t_04 partition of p.t for values from ('2024-03-31 15:00Z') to ('2024-04-30 15:00Z')",
        &[daily("t", "2024-04-01", "p.t", "at", "", sql)],
    )
    .await?;
    bench.call("run t 2024-04-30")?.expect_code(0);
    bench.call("run t 2024-05-01")?.expect_code(2).expect_error("TH0418");
    assert_eq!(bench.db.rows("select v from p.t order by v").await?, ["1", "2"]);
    bench
        .db
        .execute("create table p.t_05 partition of p.t for values from ('2024-04-30 15:00Z') to ('2024-05-31 15:00Z')")
        .await?;
    bench.call("run t 2024-05-01")?.expect_code(0);
    assert_eq!(bench.db.rows("select v from p.t order by v").await?, ["1", "2", "3"]);
    assert!(bench.runs().await?.iter().all(|run| !run.contains("transient")), "{:?}", bench.runs().await?);
    Ok(())
}

/// Cut by list: nothing tells before the insert, so the server refuses it, and the old rows are still there.
#[tokio::test(flavor = "multi_thread")]
async fn case_021_no_list_partition_for_a_row() -> Result<()> {
    let sql = "select at::date as day, country, sum(v) as v from p.src where at >= :interval_start and at < :interval_end group by 1, 2";
    let bench = Bench::new(
        "Asia/Tokyo",
        "create schema p;
         create table p.src (at timestamptz, country text, v int);
         insert into p.src values ('2024-04-30 10:00Z', 'jp', 2);
         create table p.t (day date not null, country text, v bigint) partition by list (country);
         create table p.t_jp partition of p.t for values in ('jp')",
        &[daily("t", "2024-04-01", "p.t", "day", "", sql)],
    )
    .await?;
    bench.call("run t 2024-04-30")?.expect_code(0);
    bench.db.execute("insert into p.src values ('2024-04-30 11:00Z', 'kr', 3)").await?;
    let failed = bench.call("run t 2024-04-30")?;
    assert!(matches!(failed.code(), Some(2 | 8)), "{}{}", failed.stdout(), failed.stderr());
    assert_eq!(bench.db.rows("select day, country, v from p.t").await?, ["2024-04-30|jp|2"]);
    assert_eq!(bench.runs().await?.last().map(String::as_str), Some("2024-04-30|2|failed|permanent|23514"));
    Ok(())
}

/// Everything that hangs on the target stays: view, grant, column grant, comment, index, statistics, sequence, publication.
#[tokio::test(flavor = "multi_thread")]
async fn case_023_view_and_grants_survive() -> Result<()> {
    let bench = Bench::new(
        "Australia/Adelaide",
        "create schema s;
         create table s.src (at timestamptz, v int);
         insert into s.src values ('2024-10-05 14:30Z', 1), ('2024-10-06 13:29Z', 2);
         create table s.daily (day date, n bigint, total bigint);
         create index daily_day_brin on s.daily using brin (day);
         comment on table s.daily is 'hands off';
         alter table s.daily alter column day set statistics 77;
         create view s.report as select day, total from s.daily;
         create function s.newest() returns date begin atomic; select max(day) from s.daily; end",
        &[daily(
            "daily",
            "2024-10-01",
            "s.daily",
            "day",
            "",
            "select at::date as day, count(*) as n, sum(v) as total from s.src
              where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    let (reader, url) = bench.worker_login("reader").await?;
    bench.db.execute(&format!("grant usage on schema s to {reader}; grant select on s.daily to {reader}")).await?;
    let before = bench
        .db
        .value("select oid || ' ' || relfilenode || ' ' || relacl::text from pg_class where oid = 's.daily'::regclass")
        .await?;
    for _ in 0..3 {
        bench.call("run daily 2024-10-06")?.expect_code(0);
    }
    assert_eq!(bench.db.rows("select * from s.report").await?, ["2024-10-06|3"]);
    assert_eq!(bench.db.value("select s.newest()").await?, "2024-10-06");
    let client = thrice_tests::database::connect(&url).await?;
    let total: i64 = client.query_one("select total from s.daily", &[]).await?.get(0);
    assert_eq!(total, 3);
    let after = bench
        .db
        .value("select oid || ' ' || relfilenode || ' ' || relacl::text from pg_class where oid = 's.daily'::regclass")
        .await?;
    assert_eq!(after, before);
    let kept = bench
        .db
        .value(
            "select obj_description('s.daily'::regclass) || attstattarget || to_regclass('s.daily_day_brin')
               from pg_attribute where attrelid = 's.daily'::regclass and attname = 'day'",
        )
        .await?;
    assert_eq!(kept, "hands off77s.daily_day_brin");
    Ok(())
}

/// The target is locked until the first run has failed for it; the second one publishes.
#[tokio::test(flavor = "multi_thread")]
async fn case_025_retry_after_lock() -> Result<()> {
    let bench = Bench::new(
        "America/Bogota",
        "create schema l;
         create table l.src (at timestamptz, v int);
         insert into l.src values ('2024-05-01 05:00Z', 40), ('2024-05-02 04:59Z', 2);
         create table l.t (day date, total bigint)",
        &[daily(
            "t",
            "2024-05-01",
            "l.t",
            "day",
            "[retry]\nattempts = 3\nfirst_delay = \"1s\"\n[timeouts]\nlock = \"1s\"\n",
            "select at::date as day, sum(v) as total from l.src where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    let holder = bench.db.connect().await?;
    // reading the target is allowed, writing is not: the wait comes inside the publish
    holder.batch_execute("begin; lock table l.t in share mode").await?;
    let run = bench.thrice("run t 2024-05-01 --json").start()?;
    let failed = "select count(*) from thrice.pipeline_run_ledger where status = 'failed' and sqlstate = '55P03'";
    bench.wait_for(failed, "1", Duration::from_mins(1)).await?;
    holder.batch_execute("rollback").await?;
    let out = run.wait_at_most(Duration::from_mins(1))?.expect_code(0).json()?;
    assert_eq!(out["items"][0]["failed_attempts"][0]["sqlstate"], "55P03", "{out}");
    assert_eq!(bench.runs().await?, ["2024-05-01|1|failed|transient|55P03", "2024-05-01|2|published||"]);
    assert_eq!(bench.db.rows("select * from l.t").await?, ["2024-05-01|42"]);
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// A deadlock and a serialisation failure: the target's trigger raises each once.
#[tokio::test(flavor = "multi_thread")]
async fn case_025_retry_after_deadlock_and_serialisation() -> Result<()> {
    let bench = Bench::new(
        "America/Bogota",
        "create schema l;
         create table l.src (at timestamptz, v int);
         insert into l.src values ('2024-05-01 05:00Z', 40);
         create table l.t (at timestamptz, v int);
         create sequence l.tries;
         create function l.clash() returns trigger language plpgsql as $$
           declare n bigint := nextval('l.tries');   -- not rolled back
           begin
             if n = 1 then raise exception 'one' using errcode = '40P01'; end if;
             if n = 2 then raise exception 'two' using errcode = '40001'; end if;
             return new;
           end $$;
         create trigger clash before insert on l.t for each row execute function l.clash()",
        &[daily(
            "t",
            "2024-05-01",
            "l.t",
            "at",
            "[retry]\nattempts = 3\nfirst_delay = \"1s\"\n",
            "select at, v from l.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    bench.call("run t 2024-05-01")?.expect_code(0);
    assert_eq!(
        bench.runs().await?,
        ["2024-05-01|1|failed|transient|40P01", "2024-05-01|2|failed|transient|40001", "2024-05-01|3|published||"]
    );
    assert_eq!(bench.db.rows("select v from l.t").await?, ["40"]);
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// The role's limit ends the query; a limit in the pipeline takes its place.
#[tokio::test(flavor = "multi_thread")]
async fn case_027_statement_timeout() -> Result<()> {
    let sql = "select at::date as day, count(*) as n from t.src, (select pg_sleep(1.5)) nap
                where at >= :interval_start and at < :interval_end group by 1";
    let bench = Bench::new(
        "Asia/Kathmandu",
        "create schema t;
         create table t.src (at timestamptz);
         insert into t.src values ('2024-05-01 18:14:59Z'), ('2024-05-01 18:15Z'), ('2024-05-02 18:14Z');
         create table t.daily (day date, n bigint)",
        &[daily("daily", "2024-05-01", "t.daily", "day", "", sql)],
    )
    .await?;
    let (login, url) = bench.worker_login("hurried").await?;
    bench
        .db
        .execute(&format!(
            "grant usage on schema t to {login}; grant select, insert, delete on all tables in schema t to {login};
             alter role {login} set statement_timeout = '400ms'"
        ))
        .await?;
    let run = ["run", "daily", "2024-05-02"];
    bench.project.thrice_through(&url, run).run()?.expect_code(8).expect_error("TH0603");
    assert_eq!(bench.runs().await?, ["2024-05-02|1|failed|timeout|57014"]);
    let left = format!("select count(*) from pg_stat_activity where usename = '{login}' and state = 'active'");
    bench.wait_for(&left, "0", Duration::from_secs(10)).await?;
    assert_eq!(bench.db.value("select count(*) from t.daily").await?, "0");
    bench.project.write(&daily("daily", "2024-05-01", "t.daily", "day", "[timeouts]\nstage = \"30s\"\n", sql))?;
    bench.project.thrice_through(&url, run).run()?.expect_code(0);
    assert_eq!(bench.db.rows("select * from t.daily").await?, ["2024-05-02|2"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_029_temp_space_runs_out() -> Result<()> {
    let bench = Bench::new(
        "America/Denver",
        "create schema d;
         create table d.src (at timestamptz, pad text);
         insert into d.src select '2024-05-01 06:00Z'::timestamptz + i * interval '2 seconds', md5(i::text)
           from generate_series(0, 29999) i;
         create table d.t (at timestamptz, pad text, place bigint)",
        &[daily(
            "t",
            "2024-05-01",
            "d.t",
            "at",
            "[retry]\nattempts = 2\nfirst_delay = \"1s\"\n",
            "select at, pad, row_number() over (order by pad, at) as place from d.src
              where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    let (login, url) = bench.worker_login("cramped").await?;
    bench
        .db
        .execute(&format!(
            "grant usage on schema d to {login}; grant select, insert, delete on all tables in schema d to {login};
             alter role {login} set temp_file_limit = '64kB'; alter role {login} set work_mem = '64kB'"
        ))
        .await?;
    let run = ["run", "t", "2024-05-01"];
    bench.project.thrice_through(&url, run).run()?.expect_code(7);
    // no tight loop: two runs, a pause between them
    assert_eq!(bench.runs().await?, ["2024-05-01|1|failed|transient|53400", "2024-05-01|2|failed|transient|53400"]);
    assert_eq!(bench.staging_tables().await?, 0);
    assert_eq!(bench.db.value("select count(*) from d.t").await?, "0");
    bench.db.execute(&format!("alter role {login} reset temp_file_limit")).await?;
    bench.project.thrice_through(&url, run).run()?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) || ' ' || max(place) from d.t").await?, "30000 30000");
    assert_eq!(bench.staging_tables().await?, 0);
    Ok(())
}

/// The trigger stays on, sees each change once, and is not flooded by runs that change nothing.
#[tokio::test(flavor = "multi_thread")]
async fn case_033_trigger_on_target() -> Result<()> {
    let bench = Bench::new(
        "Asia/Dubai",
        "create schema a;
         create table a.src (at timestamptz, v int);
         insert into a.src values ('2024-05-01 20:00Z', 5), ('2024-05-02 19:59Z', 6);
         create table a.t (day date, total bigint);
         create table a.log (op text, total bigint);
         create function a.note() returns trigger language plpgsql as $$
           begin insert into a.log values (tg_op, coalesce(new.total, old.total)); return null; end $$;
         create trigger noted after insert or update or delete on a.t for each row execute function a.note()",
        &[daily(
            "t",
            "2024-05-01",
            "a.t",
            "day",
            "",
            "select at::date as day, sum(v) as total from a.src where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run t 2024-05-02")?.expect_code(0);
    }
    assert_eq!(bench.db.rows("select * from a.log").await?, ["INSERT|11"]);
    bench.db.execute("insert into a.src values ('2024-05-02 10:00Z', 1)").await?;
    bench.call("run t 2024-05-02")?.expect_code(0);
    assert_eq!(bench.db.rows("select * from a.log").await?, ["INSERT|11", "DELETE|11", "INSERT|12"]);
    assert_eq!(bench.db.rows("select * from a.t").await?, ["2024-05-02|12"]);
    assert_eq!(bench.db.value("select tgenabled from pg_trigger where tgname = 'noted'").await?, "O");
    Ok(())
}

/// A trigger that changes what is written: the rows in the target would not be the rows that were checked.
#[tokio::test(flavor = "multi_thread")]
async fn case_033_trigger_that_changes_rows() -> Result<()> {
    let bench = Bench::new(
        "UTC",
        "create schema a;
         create table a.src (at timestamptz, v int);
         insert into a.src values ('2024-05-02 01:00Z', 5), ('2024-05-02 02:00Z', 6);
         create table a.t (at timestamptz, v int);
         create function a.drop_six() returns trigger language plpgsql as $$
           begin if new.v = 6 then return null; end if; return new; end $$;
         create trigger less before insert on a.t for each row execute function a.drop_six()",
        &[daily(
            "t",
            "2024-05-01",
            "a.t",
            "at",
            "[retry]\nattempts = 1\n",
            "select at, v from a.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    let out = bench.call("run t 2024-05-02")?;
    assert!(!matches!(out.code(), Some(0 | 1) | None), "{}{}", out.stdout(), out.stderr());
    out.expect_error("TH0606");
    assert_eq!(bench.db.value("select count(*) from a.t").await?, "0");
    assert_eq!(bench.receipts().await?, [""; 0]);
    Ok(())
}

/// Three columns of one type in another order, and one whose name differs in case only.
#[tokio::test(flavor = "multi_thread")]
async fn case_037_column_order_differs() -> Result<()> {
    let bench = Bench::new(
        "Europe/Warsaw",
        "create schema o;
         create table o.src (at timestamptz, z text, y text, x text);
         insert into o.src values ('2024-05-01 10:00Z', 'zz', 'yy', 'xx');
         create table o.t (x text, \"X\" text, y text, z text, at timestamptz)",
        &[daily(
            "t",
            "2024-05-01",
            "o.t",
            "at",
            "",
            "select z, at, y || '!' as \"X\", y, x from o.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run t 2024-05-01")?.expect_code(0);
        assert_eq!(bench.db.rows("select x, \"X\", y, z from o.t").await?, ["xx|yy!|yy|zz"]);
    }
    Ok(())
}

/// Values that are not equal to themselves elsewhere, and ends of the scales.
#[tokio::test(flavor = "multi_thread")]
async fn case_039_nan_in_measure() -> Result<()> {
    let bench = Bench::new(
        "Asia/Yangon",
        "create schema n;
         create table n.src (at timestamptz, k text, r real, d float8, q numeric, u timestamptz, e date);
         insert into n.src values
           ('2024-05-01 01:00Z', 'a', 'NaN', 'NaN', 'NaN', 'infinity', '-infinity'),
           ('2024-05-01 02:00Z', 'b', '-0', '-0', '-Infinity', '-infinity', 'infinity'),
           ('2024-05-01 03:00Z', 'c', '1e-45', '5e-324', 1.50, null, null),
           ('2024-05-01 04:00Z', 'd', '3.4028235e38', '1.7976931348623157e308', 1e-30, '2024-05-01 03:04:05.678901Z', '0001-01-01 BC');
         create table n.t (at timestamptz, k text, r real, d float8, q numeric, u timestamptz, e date)",
        &[daily(
            "t",
            "2024-05-01",
            "n.t",
            "at",
            "",
            "select * from n.src where at >= :interval_start and at < :interval_end",
        )],
    )
    .await?;
    for n in 0..3 {
        let out = bench.call("run t 2024-05-01 --json")?.expect_code(0).json()?;
        assert_eq!(out["items"][0]["outcome"], if n == 0 { "published" } else { "unchanged" }, "{out}");
        let rows = bench.db.rows("select k, r, d, q, u, e from n.t order by k").await?;
        assert_eq!(
            rows,
            [
                "a|NaN|NaN|NaN|infinity|-infinity",
                "b|-0|-0|-Infinity|-infinity|infinity",
                "c|1e-45|5e-324|1.50||",
                "d|3.4028235e+38|1.7976931348623157e+308|0.000000000000000000000000000001|2024-05-01 03:04:05.678901+00|0001-01-01 BC",
            ]
        );
    }
    Ok(())
}

/// A row of Monday comes on Wednesday: both days are run again, and it is counted once.
#[tokio::test(flavor = "multi_thread")]
async fn case_041_late_rows_in_lookback() -> Result<()> {
    let bench = Bench::new(
        "Australia/Lord_Howe",
        "create schema w;
         create table w.ev (at timestamptz, v int);
         insert into w.ev values ('2024-05-05 13:29Z', 1), ('2024-05-05 13:30Z', 2), ('2024-05-06 13:29Z', 4), ('2024-05-06 13:30Z', 8);
         create table w.daily (day date primary key, n int, total int)",
        &[daily(
            "daily",
            "2024-05-01",
            "w.daily",
            "day",
            "",
            "select at::date as day, count(*)::int as n, sum(v)::int as total from w.ev
              where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    let run = "run daily --from 2024-05-06 --to 2024-05-07";
    bench.call(run)?.expect_code(0);
    assert_eq!(bench.db.rows("select * from w.daily order by 1").await?, ["2024-05-06|2|6", "2024-05-07|1|8"]);
    bench.db.execute("insert into w.ev values ('2024-05-06 12:00Z', 16)").await?;
    for _ in 0..2 {
        bench.call(run)?.expect_code(0);
        assert_eq!(bench.db.rows("select * from w.daily order by 1").await?, ["2024-05-06|3|22", "2024-05-07|1|8"]);
    }
    Ok(())
}

/// The night of 16 February 2019 in São Paulo: 23:00 comes twice, so the day has 25 hours.
#[tokio::test(flavor = "multi_thread")]
async fn case_045_hour_that_comes_twice() -> Result<()> {
    let bench = twice("America/Sao_Paulo", "2019-02-16 02:00Z", "2019-02-17 03:00Z").await?;
    bench.call("run per_hour 2019-02-16")?.expect_code(0);
    assert_eq!(bench.db.value("select count(*) || ' ' || sum(n) from h.per_hour").await?, "25 100");
    // by the wall clock's text it is not clear which one is meant
    bench.call("run per_hour 2019-02-16T23")?.expect_code(2).expect_error("TH0110");
    bench.db.execute("insert into h.ev values ('2019-02-17 02:59:59.999999Z')").await?;
    bench.call("run per_hour 2019-02-16T23-03:00")?.expect_code(0);
    bench.call("run per_hour 2019-02-16T23-02:00")?.expect_code(0);
    let rows = bench.db.rows("select at, n from h.per_hour where at >= '2019-02-17 01:00Z' order by 1").await?;
    assert_eq!(rows, ["2019-02-17 01:00:00+00|4", "2019-02-17 02:00:00+00|5"]);
    assert_eq!(bench.db.value("select count(distinct interval_key) from thrice.partitions").await?, "25");
    Ok(())
}

/// Lord Howe moves its clocks by half an hour: on 7 April 2024 at 02:00 (UTC+11) it is 01:30 (UTC+10:30) again. The hour
/// from 01:00 lasts 90 minutes, and no row is in two intervals or in none.
#[tokio::test(flavor = "multi_thread")]
async fn case_045_half_an_hour_that_comes_twice() -> Result<()> {
    let bench = twice("Australia/Lord_Howe", "2024-04-06 13:00Z", "2024-04-07 13:30Z").await?;
    bench.call("run per_hour 2024-04-07")?.expect_code(0);
    assert_eq!(bench.db.value("select sum(n) from h.per_hour").await?, "98");
    let hours = "select count(*) || ' ' || min(interval_start) || ' ' || max(interval_end)
                   || ' ' || sum(interval_end - interval_start) from thrice.partitions";
    assert_eq!(bench.db.value(hours).await?, "24 2024-04-06 13:00:00+00 2024-04-07 13:30:00+00 24:30:00");
    let odd = "select interval_start || ' ' || (interval_end - interval_start) from thrice.partitions
                where interval_end - interval_start <> interval '1 hour'";
    assert_eq!(bench.db.rows(odd).await?, ["2024-04-06 14:00:00+00 01:30:00"]);
    Ok(())
}

/// The spring day in São Paulo had no midnight: it began at 01:00 and had 23 hours.
#[tokio::test(flavor = "multi_thread")]
async fn case_045_midnight_that_never_was() -> Result<()> {
    let bench = twice("America/Sao_Paulo", "2018-11-04 03:00Z", "2018-11-05 02:00Z").await?;
    bench.call("run per_hour 2018-11-04T00")?.expect_code(2).expect_error("TH0110");
    bench.call("run per_hour 2018-11-04")?.expect_code(0);
    assert_eq!(
        bench.db.value("select count(*) || ' ' || sum(n) || ' ' || min(at) from h.per_hour").await?,
        "23 92 2018-11-04 03:00:00+00"
    );
    Ok(())
}

/// Rows every quarter of an hour from two hours before `from` to two hours after `to`.
async fn twice(zone: &str, from: &str, to: &str) -> Result<Bench> {
    let setup = format!(
        "create schema h;
         create table h.ev (at timestamptz);
         insert into h.ev select generate_series('{from}'::timestamptz - interval '2 hours', '{to}'::timestamptz + interval '2 hours', '15 minutes');
         create table h.per_hour (at timestamptz primary key, n bigint)"
    );
    let sql =
        "select :interval_start as at, count(*) as n from h.ev where at >= :interval_start and at < :interval_end";
    Bench::new(zone, &setup, &[hourly("per_hour", "2018-11-01", "h.per_hour", "at", "key = [\"at\"]\n", sql)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_047_one_batch_of_three_fails() -> Result<()> {
    let bench = Bench::new(
        "Pacific/Apia",
        "create schema b;
         create table b.src (at timestamptz, text text);
         insert into b.src values ('2024-05-05 12:00Z', '10'), ('2024-05-06 12:00Z', 'ten'), ('2024-05-07 12:00Z', '30');
         create table b.t (day date, total bigint)",
        &[daily(
            "t",
            "2024-05-01",
            "b.t",
            "day",
            "",
            "select at::date as day, sum(text::int) as total from b.src
              where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    let run = "run t --from 2024-05-06 --to 2024-05-08";
    bench.call(run)?.expect_code(8);
    assert_eq!(bench.db.rows("select * from b.t order by 1").await?, ["2024-05-06|10", "2024-05-08|30"]);
    bench.call("status t --from 2024-05-06 --to 2024-05-08 --require published")?.expect_code(5);
    bench.db.execute("update b.src set text = '20' where text = 'ten'").await?;
    bench.call("run t 2024-05-07")?.expect_code(0);
    assert_eq!(
        bench.db.rows("select * from b.t order by 1").await?,
        ["2024-05-06|10", "2024-05-07|20", "2024-05-08|30"]
    );
    let runs = bench.runs().await?;
    assert_eq!(runs.iter().filter(|run| run.starts_with("2024-05-07")).count(), 2, "{runs:?}");
    assert_eq!(runs.len(), 4, "{runs:?}");
    bench.call("status t --from 2024-05-06 --to 2024-05-08 --require published")?.expect_code(0);
    Ok(())
}

/// Everything that looks like a placeholder and is none.
#[tokio::test(flavor = "multi_thread")]
async fn case_049_colons_and_percent_in_sql() -> Result<()> {
    let sql = r#"-- 100 % of :interval_end_of_day, {{ nothing }} and $9
select at::timestamptz as at, to_char(at, 'HH24:MI:SS') as ":interval_start", /* :x /* :y */ :z */
  array_to_string((array[1,2,3,4])[:n], ':') as a, array_to_string((array[1,2,3,4])[2:n], ':') as b,
  E'it\':interval_end' as c, U&'\003Aname' as d, $q$ :x %s {{ y }} $1 $$ $q$ as e, n % 3 as f,
  j -> 'k' ->> 0 as g, j ? 'k' as h, j @> '{"k":[":v"]}'::jsonb as i, '%(name)s ?' as k, n::numeric(5,1)::text as l
from q."src:x" where at >= :interval_start and at < :interval_end and :factor = 2"#;
    let bench = Bench::new(
        "America/St_Johns",
        r#"create schema q;
           create table q."src:x" (at timestamptz, n int, j jsonb);
           insert into q."src:x" values ('2024-05-01 02:30Z', 3, '{"k":[":v"]}'), ('2024-05-02 02:30Z', 1, '{}');
           create table q.t (at timestamptz, ":interval_start" text, a text, b text, c text, d text, e text, f int,
             g text, h boolean, i boolean, k text, l text)"#,
        &[{
            let mut pipeline = daily("t", "2024-05-01", "q.t", "at", "", sql);
            pipeline.toml.push_str("[vars]\nfactor = 2\n");
            pipeline
        }],
    )
    .await?;
    for _ in 0..3 {
        bench.call("run t 2024-05-01")?.expect_code(0);
        let rows = bench.db.rows("select * from q.t").await?;
        let wanted = "2024-05-01 02:30:00+00|00:00:00|1:2:3|2:3|it':interval_end|:name| :x %s {{ y }} $1 $$ |0|:v|t|t|%(name)s ?|3.0";
        assert_eq!(rows, [wanted]);
    }
    Ok(())
}

/// Rows without a time would be in the result of every interval, where no later run could delete them.
#[tokio::test(flavor = "multi_thread")]
async fn case_051_null_time_column() -> Result<()> {
    for (kind, value) in [("date", "at::date"), ("timestamptz", "at"), ("timestamp", "at::timestamp")] {
        let bench = Bench::new(
            "Asia/Almaty",
            &format!(
                "create schema u;
                 create table u.src (at timestamptz, v int);
                 insert into u.src values ('2024-05-02 12:00Z', 1);
                 create table u.t (\"When\" {kind}, v int)"
            ),
            &[daily(
                "t",
                "2024-05-01",
                "u.t",
                "\"When\"",
                "",
                &format!(
                    "select {value} as \"When\", v from u.src where at >= :interval_start and at < :interval_end or at is null"
                ),
            )],
        )
        .await?;
        bench.call("run t 2024-05-02")?.expect_code(0);
        bench.db.execute("insert into u.src values (null, 2), (null, 3), ('2024-05-02 13:00Z', 4)").await?;
        for _ in 0..2 {
            bench.call("run t 2024-05-02")?.expect_code(4).expect_error("TH0701").expect_text("2");
            assert_eq!(bench.db.rows("select v from u.t").await?, ["1"], "{kind}");
        }
        let checks = "select distinct check_name || ' ' || observed || ' ' || passed from thrice.check_results where check_name = 'inside the interval' and not passed";
        assert_eq!(bench.db.rows(checks).await?, ["inside the interval 2 false"], "{kind}");
    }
    Ok(())
}

/// The partition of May is neither in nor out. Its day is refused; April stays usable.
#[tokio::test(flavor = "multi_thread")]
async fn case_053_partition_half_detached() -> Result<()> {
    let bench = Bench::new(
        "Asia/Manila",
        "create schema x;
         create table x.src (at timestamptz, v int);
         insert into x.src values ('2024-04-30 04:00Z', 1), ('2024-05-01 04:00Z', 2);
         create table x.t (day date not null, v bigint) partition by range (day);
         create table x.t_april partition of x.t for values from ('2024-04-01') to ('2024-05-01');
         create table x.t_may partition of x.t for values from ('2024-05-01') to ('2024-06-01');
         insert into x.t_may values ('2024-05-01', 77);
         set allow_system_table_mods = on;
         update pg_inherits set inhdetachpending = true where inhrelid = 'x.t_may'::regclass",
        &[daily(
            "t",
            "2024-04-01",
            "x.t",
            "day",
            "",
            "select at::date as day, sum(v) as v from x.src where at >= :interval_start and at < :interval_end group by 1",
        )],
    )
    .await?;
    bench.call("run t 2024-05-01")?.expect_code(2).expect_text("finalize");
    assert_eq!(bench.db.rows("select * from x.t_may").await?, ["2024-05-01|77"]);
    bench.call("run t 2024-04-30")?.expect_code(0);
    assert_eq!(bench.db.rows("select * from x.t_april").await?, ["2024-04-30|1"]);
    assert_eq!(
        bench.db.value("select inhdetachpending from pg_inherits where inhrelid = 'x.t_may'::regclass").await?,
        "t"
    );
    Ok(())
}
