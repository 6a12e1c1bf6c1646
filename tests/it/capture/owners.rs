//! Whose a source is, and whose rows the owner of the schema sees (PostgreSQL). Roles are the server's, so each has the name of its database.

use aftercommit::store::sources::{Extent, Place, Way};

use super::world::{Backend, World, customers};

#[tokio::test]
async fn rows_that_a_policy_hides_are_an_error_and_no_deletes() {
    let world = World::attached(Backend::Postgres).await;
    let owner = format!(
        "owner_{}",
        world.inner.text("select current_database()").await.unwrap()
    );
    world
        .run("insert into customers values (1, 'a', 1, ''), (2, 'b', 1, '')")
        .await;
    world
        .run(&format!(
            "create role {owner}; alter schema aftercommit owner to {owner};
             grant all on all tables in schema aftercommit, public to {owner}; grant all on all sequences in schema aftercommit to {owner};
             do $$ declare f record; begin
                 for f in select oid::regprocedure as name from pg_proc where pronamespace = 'aftercommit'::regnamespace loop
                     execute format('alter function %s owner to {owner}', f.name);
                 end loop; end $$;
             alter table customers enable row level security; create policy visible on customers using (id > 1)"
        ))
        .await;
    world.news().await;
    let error = world
        .try_run("update customers set name = 'c'")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("row-level security"), "{error}");
    assert!(world.news().await.is_empty());
    let error = world
        .attach(customers(Way::Trigger))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("bypassrls"), "{error}");
    world.run(&format!("alter schema aftercommit owner to current_user; reassign owned by {owner} to current_user; drop owned by {owner}; drop role {owner}")).await;
}

#[tokio::test]
async fn who_takes_the_place_of_a_source_owns_it_as_before() {
    let world = World::captured(Backend::Postgres).await;
    let other = format!(
        "other_{}",
        world.inner.text("select current_database()").await.unwrap()
    );
    world
        .run(&format!(
            "insert into customers values (1, 'a', 1, ''); alter table customers rename to gone;
             create table customers (like gone including all); create role {other}; alter table customers owner to {other}"
        ))
        .await;
    let refused = world
        .try_capture(Extent::default())
        .await
        .unwrap_err()
        .to_string();
    let problem = world.inner.database.attached().await.unwrap().remove(0).problem;
    world.attach(customers(Way::Capture)).await.unwrap();
    assert!(
        world.try_capture(Extent::default()).await.is_ok(),
        "attached again, it is meant"
    );
    world
        .run(&format!("drop table customers; drop role {other}"))
        .await;
    assert!(refused.contains("belongs no longer to"), "{refused}");
    assert!(problem.is_some_and(|problem| problem.contains(&other)));
}

#[tokio::test]
async fn who_makes_a_source_that_was_not_there_is_its_owner_from_then_on() {
    let world = World::with_table(Backend::Postgres).await;
    let name = world.inner.text("select current_database()").await.unwrap();
    let (first, second) = (format!("first_{name}"), format!("second_{name}"));
    let mut later = customers(Way::Capture);
    later.place = Place::Table("public.later".to_owned());
    world.attach(later).await.unwrap();
    let told = world.inner.database.surprises("customers").await.unwrap();
    assert!(
        told.iter()
            .any(|one| one.contains("nothing is called public.later yet")),
        "{told:?}"
    );
    let make = |role: &str| {
        format!(
            "create table later (like customers including all); create role {role}; alter table later owner to {role}"
        )
    };
    world.run(&make(&first)).await;
    world.capture().await;
    world.run("drop table later").await;
    world.run(&make(&second)).await;
    let refused = world
        .try_capture(Extent::default())
        .await
        .unwrap_err()
        .to_string();
    world
        .run(&format!("drop table later; drop role {first}, {second}"))
        .await;
    assert!(
        refused.contains(&format!("belongs no longer to {first}")),
        "{refused}"
    );
}
