// SPDX-License-Identifier: Apache-2.0
//! Installing, upgrading, permissions, switches, and whose component takes an intent.

mod world;

use apk::ComponentKind;
use intent::{Component, Intent};
use server::Packages;
use server::packages::{
    Best, Denied, Enabled, FIRST_UID, FRAMEWORK, Grant, GrantError, InstallError, Installed, Kind,
    MATCH_DISABLED, PACKAGES_MAX,
};
use world::{component, manifest, permission, signed, taking};

fn action(name: &str) -> Intent {
    Intent {
        action: Some(name.to_owned()),
        ..Intent::default()
    }
}

fn install(packages: &mut Packages, it: apk::Manifest) -> Result<Installed, InstallError> {
    let installed = packages.install(signed(it, "s"));
    packages.assert_consistent();
    installed
}

#[test]
fn an_upgrade_keeps_the_user_and_what_was_decided() {
    let mut packages = Packages::default();
    let mut one = manifest("p.one", 1);
    one.application.components = vec![
        component(ComponentKind::Service, "Old"),
        component(ComponentKind::Service, "Kept"),
    ];
    assert_eq!(install(&mut packages, one), Ok(Installed::New(FIRST_UID)));
    assert!(packages.set_enabled("p.one", Some("Old"), Enabled::Disabled));
    assert!(packages.set_enabled("p.one", Some("Kept"), Enabled::Disabled));
    let mut two = manifest("p.one", 2);
    two.application.components = vec![component(ComponentKind::Service, "Kept")];
    assert_eq!(
        install(&mut packages, two),
        Ok(Installed::Replaced(FIRST_UID))
    );
    let settings = &packages.get("p.one").expect("installed").settings;
    assert_eq!(settings.version, 2);
    assert_eq!(settings.components.keys().collect::<Vec<_>>(), ["Kept"]);
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut packages = Packages::default();
    install(&mut packages, manifest("p.one", 2)).expect("it is new");
    let older = install(&mut packages, manifest("p.one", 1));
    assert!(matches!(
        older,
        Err(InstallError::Downgrade { old: 2, new: 1, .. })
    ));
    let other = packages.install(signed(manifest("p.one", 3), "t"));
    assert!(matches!(other, Err(InstallError::OtherSigners(_))));
    let mut unsigned = signed(manifest("p.two", 1), "s");
    unsigned.signers.clear();
    assert!(matches!(
        packages.install(unsigned),
        Err(InstallError::NotSigned(_))
    ));
    let mut shared = manifest("p.two", 1);
    shared.shared_user_id = Some("u".to_owned());
    let shared = install(&mut packages, shared).expect_err("not supported");
    assert!(shared.to_string().contains("sharedUserId is not supported"));
    let mut newer = manifest("p.two", 1);
    newer.min_sdk = 99;
    assert!(matches!(
        install(&mut packages, newer),
        Err(InstallError::Sdk(_, 99))
    ));
    assert_eq!(packages.len(), 1);
    assert_eq!(
        packages.get("p.one").expect("installed").settings.version,
        2
    );
}

#[test]
fn names_belong_to_one_package() {
    let mut packages = Packages::default();
    let provider = |package: &str| {
        let mut it = manifest(package, 1);
        let mut provider = component(ComponentKind::Provider, "Facts");
        provider.authorities = vec!["facts".to_owned()];
        it.application.components.push(provider);
        it
    };
    install(&mut packages, provider("p.one")).expect("it is new");
    let second = install(&mut packages, provider("p.two"));
    assert!(matches!(second, Err(InstallError::AuthorityTaken(..))));
    assert!(packages.provider("facts").is_some());
    packages.uninstall("p.one").expect("it is there");
    assert!(packages.provider("facts").is_none());
    install(&mut packages, provider("p.two")).expect("the name is free");
}

#[test]
fn the_frameworks_permissions_are_granted_and_stay_its_own() {
    let mut packages = Packages::default();
    let mut framework = manifest(FRAMEWORK, 35);
    framework.permissions = vec![permission("vibrate", 0), permission("reboot", 2)];
    framework.protected_broadcasts = vec!["booted".to_owned()];
    packages.know_framework(&framework);
    let mut other = manifest("p.one", 1);
    other.uses_permissions = vec!["vibrate".to_owned(), "reboot".to_owned()];
    // It defines one of them anew, as some old packages do: nothing comes of it.
    other.permissions = vec![permission("reboot", 0)];
    install(&mut packages, other).expect("it is new");
    assert!(packages.is_granted("p.one", "vibrate"));
    assert!(!packages.is_granted("p.one", "reboot"));
    packages.uninstall("p.one").expect("it is there");
    packages.assert_consistent();
    assert!(packages.is_protected("booted") && !packages.is_protected("act"));
    let forged = install(&mut packages, framework);
    assert!(matches!(forged, Err(InstallError::OtherSigners(_))));
}

#[test]
fn permissions_go_by_their_level() {
    let mut packages = Packages::default();
    let mut definer = manifest("p.definer", 1);
    let levels = [
        ("normal", 0),
        ("dangerous", 1),
        ("signature", 2),
        ("internal", 4),
    ];
    definer.permissions = levels
        .iter()
        .map(|(name, level)| permission(name, *level))
        .collect();
    install(&mut packages, definer).expect("it is new");
    let asks = |package: &str, target: u32| {
        let mut it = manifest(package, 1);
        it.target_sdk = target;
        let names = levels.iter().map(|(name, _)| *name).chain(["unknown"]);
        it.uses_permissions = names.map(str::to_owned).collect();
        it
    };
    let granted = |packages: &Packages, package: &str| -> Vec<&str> {
        let all = levels.iter().map(|(name, _)| *name).chain(["unknown"]);
        all.filter(|it| packages.is_granted(package, it)).collect()
    };
    install(&mut packages, asks("p.same", 34)).expect("it is new");
    packages
        .install(signed(asks("p.other", 34), "t"))
        .expect("it is new");
    packages
        .install(signed(asks("p.old", 22), "t"))
        .expect("it is new");
    let mut flagged = signed(asks("p.flagged", 34), "t");
    flagged.dangerous = Grant::Granted;
    packages.install(flagged).expect("it is new");
    assert_eq!(granted(&packages, "p.same"), ["normal", "signature"]);
    assert_eq!(granted(&packages, "p.other"), ["normal"]);
    assert_eq!(granted(&packages, "p.old"), ["normal", "dangerous"]);
    assert_eq!(granted(&packages, "p.flagged"), ["normal", "dangerous"]);
    packages
        .set_granted("p.other", "dangerous", Grant::Granted)
        .expect("it asks for it");
    assert_eq!(granted(&packages, "p.other"), ["normal", "dangerous"]);
    let refused = packages.set_granted("p.other", "signature", Grant::Granted);
    assert!(matches!(refused, Err(GrantError::NotDangerous(_))));
    packages.uninstall("p.definer").expect("it is there");
    assert_eq!(granted(&packages, "p.other"), [""; 0]);
}

#[test]
fn queries_see_what_is_on_and_in_android_s_order() {
    let mut packages = Packages::default();
    for (package, priority) in [("p.b", 0), ("p.a", 0), ("p.low", -1), ("p.high", 5)] {
        let mut it = manifest(package, 1);
        let activity = component(ComponentKind::Activity, "View");
        it.application
            .components
            .push(taking(activity, "view", priority));
        install(&mut packages, it).expect("it is new");
    }
    let names = |packages: &Packages, flags| -> Vec<String> {
        let found = packages.query(Kind::Activity, &action("view"), flags);
        found
            .iter()
            .map(|it| it.package.settings.name.clone())
            .collect()
    };
    // Nobody puts itself before others.
    assert_eq!(names(&packages, 0), ["p.a", "p.b", "p.high", "p.low"]);
    assert!(matches!(
        packages.best(Kind::Activity, &action("view"), 0),
        Best::Several(_)
    ));
    packages.set_enabled("p.a", Some("View"), Enabled::Disabled);
    packages.set_enabled("p.high", None, Enabled::DisabledByUser);
    assert_eq!(names(&packages, 0), ["p.b", "p.low"]);
    let best = packages.best(Kind::Activity, &action("view"), 0);
    assert!(matches!(best, Best::One(it) if it.package.settings.name == "p.b"));
    assert_eq!(names(&packages, MATCH_DISABLED).len(), 4);
}

#[test]
fn what_is_not_exported_is_for_its_own_user() {
    let mut packages = Packages::default();
    let mut it = manifest("p.one", 1);
    let mut hidden = component(ComponentKind::Service, "Hidden");
    hidden.is_exported = false;
    let mut guarded = component(ComponentKind::Service, "Guarded");
    guarded.permission = Some("guard".to_owned());
    it.application.components = vec![hidden, guarded];
    it.permissions = vec![permission("guard", 0)];
    install(&mut packages, it).expect("it is new");
    let mut asks = manifest("p.asks", 1);
    asks.uses_permissions = vec!["guard".to_owned()];
    install(&mut packages, asks).expect("it is new");
    install(&mut packages, manifest("p.not", 1)).expect("it is new");
    let reach = |package: &str, class: &str| {
        let name = Component {
            package: "p.one".to_owned(),
            class: class.to_owned(),
        };
        let uid = packages.get(package).expect("installed").settings.uid;
        let found = packages.named(Kind::Service, &name).expect("it is there");
        packages.may_reach(uid, &found)
    };
    assert_eq!(reach("p.one", "Hidden"), Ok(()));
    assert!(matches!(
        reach("p.asks", "Hidden"),
        Err(Denied::NotExported(_))
    ));
    assert_eq!(reach("p.asks", "Guarded"), Ok(()));
    assert!(matches!(
        reach("p.not", "Guarded"),
        Err(Denied::Permission(..))
    ));
}

#[test]
fn packages_are_bounded() {
    let mut packages = Packages::default();
    for at in 0..PACKAGES_MAX {
        let it = signed(manifest(&format!("p.n{at}"), 1), "s");
        packages.install(it).expect("there is room");
    }
    let more = packages.install(signed(manifest("p.more", 1), "s"));
    assert!(matches!(more, Err(InstallError::Full(..))));
    packages.assert_consistent();
}
