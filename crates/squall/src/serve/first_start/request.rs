//! The environment's variables for a first start.

use std::fs::File;
use std::io::Read as _;

/// The longest value of a file, bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// Characters of a random password: more than 128 bits of chance.
const RANDOM_CHARS: usize = 24;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The password of root.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// `MYSQL_ROOT_PASSWORD`.
    Password(String),
    /// `MYSQL_RANDOM_ROOT_PASSWORD`.
    Random,
    /// `MYSQL_ALLOW_EMPTY_PASSWORD`.
    Empty,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Root's password.
    pub root: Root,
    /// `MYSQL_ROOT_HOST`: where root may come from besides this machine.
    pub root_host: String,
    /// `MYSQL_DATABASE`.
    pub database: Option<String>,
    /// `MYSQL_USER` and `MYSQL_PASSWORD`.
    pub user: Option<(String, String)>,
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether a switch is on: any text but an empty one.
pub(super) fn is_set(environment: Environment<'_>, name: &str) -> bool {
    environment(name).is_some_and(|value| !value.is_empty())
}

/// A variable, or the contents of the file that the variable with `_FILE` names.
fn value(environment: Environment<'_>, name: &str) -> Result<Option<String>, String> {
    let file_variable = format!("{name}_FILE");
    let given = environment(name).filter(|value| !value.is_empty());
    let Some(path) = environment(&file_variable).filter(|path| !path.is_empty()) else { return Ok(given) };
    if given.is_some() {
        return Err(format!("{name} and {file_variable} are both set"));
    }
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    let bytes = read.map_err(|error| format!("{file_variable}: cannot read {path}: {error}"))?;
    if bytes as u64 > FILE_BYTES_MAX {
        return Err(format!("{file_variable}: {path} has more than {FILE_BYTES_MAX} bytes"));
    }
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|text| !text.is_empty()))
}

impl Request {
    /// Reads the environment.
    ///
    /// # Errors
    /// When root's password is not spoken of, or a variable is missing beside another.
    pub(super) fn of_environment(environment: Environment<'_>) -> Result<Self, String> {
        let value = |name| value(environment, name);
        let password = value("MYSQL_ROOT_PASSWORD")?;
        let root = match password {
            _ if is_set(environment, "MYSQL_RANDOM_ROOT_PASSWORD") => Root::Random,
            Some(password) => Root::Password(password),
            None if is_set(environment, "MYSQL_ALLOW_EMPTY_PASSWORD") => Root::Empty,
            None => {
                return Err(
                    "the first start needs a password for root: set MYSQL_ROOT_PASSWORD, MYSQL_ROOT_PASSWORD_FILE or \
                            MYSQL_RANDOM_ROOT_PASSWORD, or MYSQL_ALLOW_EMPTY_PASSWORD for none"
                        .to_owned(),
                );
            }
        };
        let user = match (value("MYSQL_USER")?, value("MYSQL_PASSWORD")?) {
            (None, None) => None,
            (Some(user), _) if user == "root" => {
                return Err("MYSQL_USER is for another account than root, which MYSQL_ROOT_PASSWORD is for".to_owned());
            }
            (Some(user), Some(password)) => Some((user, password)),
            (Some(_), None) => return Err("MYSQL_USER needs MYSQL_PASSWORD".to_owned()),
            (None, Some(_)) => return Err("MYSQL_PASSWORD needs MYSQL_USER".to_owned()),
        };
        let root_host = value("MYSQL_ROOT_HOST")?.unwrap_or_else(|| "%".to_owned());
        Ok(Self { root, root_host, database: value("MYSQL_DATABASE")?, user })
    }
}

/// A password that nobody can guess.
///
/// # Errors
/// When the system has no chance to give.
pub(super) fn random_password() -> Result<String, String> {
    let mut bytes = [0; RANDOM_CHARS];
    getrandom::fill(&mut bytes).map_err(|error| format!("cannot make a password: {error}"))?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn request(variables: &[(&str, &str)]) -> Result<Request, String> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Request::of_environment(&find)
    }

    #[test]
    fn passwords_come_from_variables_and_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        fs::write(&path, "from a file\n").expect("a file");
        let path = path.to_str().expect("a text");
        let found = request(&[
            ("MYSQL_ROOT_PASSWORD_FILE", path),
            ("MYSQL_DATABASE", "shop"),
            ("MYSQL_USER", "ann"),
            ("MYSQL_PASSWORD", "it's"),
        ]);
        assert_eq!(
            found,
            Ok(Request {
                root: Root::Password("from a file".to_owned()),
                root_host: "%".to_owned(),
                database: Some("shop".to_owned()),
                user: Some(("ann".to_owned(), "it's".to_owned())),
            })
        );
        let both = request(&[("MYSQL_ROOT_PASSWORD_FILE", path), ("MYSQL_ROOT_PASSWORD", "x")]);
        assert_eq!(both, Err("MYSQL_ROOT_PASSWORD and MYSQL_ROOT_PASSWORD_FILE are both set".to_owned()));
        assert!(request(&[("MYSQL_ROOT_PASSWORD_FILE", "/nothing/here")]).is_err());
    }

    #[test]
    fn something_is_said_of_roots_password() {
        assert!(request(&[]).expect_err("an error").contains("MYSQL_RANDOM_ROOT_PASSWORD"));
        assert!(request(&[("MYSQL_ROOT_PASSWORD", "")]).is_err());
        let root = |name| request(&[(name, "yes")]).map(|request| request.root);
        assert_eq!(root("MYSQL_ALLOW_EMPTY_PASSWORD"), Ok(Root::Empty));
        assert_eq!(root("MYSQL_RANDOM_ROOT_PASSWORD"), Ok(Root::Random));
        let with = |name, value| request(&[("MYSQL_ROOT_PASSWORD", "x"), (name, value)]);
        assert_eq!(with("MYSQL_USER", "ann"), Err("MYSQL_USER needs MYSQL_PASSWORD".to_owned()));
        assert_eq!(with("MYSQL_PASSWORD", "x"), Err("MYSQL_PASSWORD needs MYSQL_USER".to_owned()));
        assert!(with("MYSQL_USER", "root").is_err());
    }
}
