//! `op keygen`.

use agent_protocol::{PublicKeys, SigningKey};

use crate::server::{run, scratch};

#[test]
fn a_key_is_made_for_its_owner_alone_and_never_overwritten() {
    let file = scratch("new.pem");
    let _ = std::fs::remove_file(&file);
    let path = file.to_str().unwrap();
    let made = run(&["keygen", "--out", path]);
    assert_eq!(made.exit, Some(0), "{}", made.err);
    let pem = std::fs::read_to_string(&file).unwrap();
    let public = SigningKey::from_pem(&pem).unwrap().public_key();
    assert_eq!(made.out, format!("{public}\n"));
    assert!(PublicKeys::parse(&made.out).is_ok());
    assert!(made.err.contains(&format!("--set-json 'approvals.publicKeys=[\"{public}\"]'")), "{}", made.err);
    let secret = pem.lines().nth(1).unwrap();
    assert!(!made.out.contains(secret) && !made.err.contains(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = run(&["keygen", "--out", path]);
    assert!(again.err.contains("exists; expected the name of a new file"), "{}", again.err);
    assert_eq!((again.out.as_str(), again.exit), ("", Some(3)));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), pem);
    let nowhere = run(&["keygen", "--out", "/nonexistent/key.pem"]);
    assert!(nowhere.err.starts_with("error: failed to write /nonexistent/key.pem: "), "{}", nowhere.err);
}
