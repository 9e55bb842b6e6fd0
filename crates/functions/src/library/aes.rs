//! AES_ENCRYPT and AES_DECRYPT: the block cipher by `block_encryption_mode`, with keys as they are or derived.

use super::support::{Args, Def, result};
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256, Block};
use sha2::Sha512;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("AES_ENCRYPT", (2, 6), result::bytes, |args| run(args, "aes_encrypt", Cipher::encrypt))
        .takes_null()
        .stable(),
    Def::new("AES_DECRYPT", (2, 6), result::bytes, |args| run(args, "aes_decrypt", Cipher::decrypt))
        .takes_null()
        .stable(),
];

const BLOCK_BYTES: usize = 16;

/// Salts and the like are shorter than this.
const OPTION_BYTES: usize = 256;

/// Rounds of PBKDF2 unless they are given, and how many may be.
const ITERATIONS: u32 = 1000;
const ITERATIONS_MAX: i64 = 65_535;

/// How blocks hang together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

enum Key {
    Bits128(Box<Aes128>),
    Bits192(Box<Aes192>),
    Bits256(Box<Aes256>),
}

impl Key {
    fn new(bytes: &[u8]) -> Option<Key> {
        match bytes.len() {
            16 => Aes128::new_from_slice(bytes).ok().map(|key| Key::Bits128(Box::new(key))),
            24 => Aes192::new_from_slice(bytes).ok().map(|key| Key::Bits192(Box::new(key))),
            _ => Aes256::new_from_slice(bytes).ok().map(|key| Key::Bits256(Box::new(key))),
        }
    }

    fn encrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Block::from(block);
        match self {
            Key::Bits128(key) => key.encrypt_block(&mut block),
            Key::Bits192(key) => key.encrypt_block(&mut block),
            Key::Bits256(key) => key.encrypt_block(&mut block),
        }
        block.into()
    }

    fn decrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Block::from(block);
        match self {
            Key::Bits128(key) => key.decrypt_block(&mut block),
            Key::Bits192(key) => key.decrypt_block(&mut block),
            Key::Bits256(key) => key.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn xor(block: [u8; BLOCK_BYTES], other: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
    std::array::from_fn(|at| block[at] ^ other[at])
}

struct Cipher {
    key: Key,
    chaining: Chaining,
    /// What the first block hangs on.
    vector: [u8; BLOCK_BYTES],
}

impl Cipher {
    fn is_padded(&self) -> bool {
        matches!(self.chaining, Chaining::Ecb | Chaining::Cbc)
    }

    fn encrypt(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.is_padded() {
            return Some(self.stream(bytes, true));
        }
        let padding = BLOCK_BYTES - bytes.len() % BLOCK_BYTES;
        let mut out = Vec::with_capacity(bytes.len() + padding);
        out.extend_from_slice(bytes);
        out.resize(bytes.len() + padding, padding as u8);
        let mut before = self.vector;
        for block in out.as_chunks_mut::<BLOCK_BYTES>().0 {
            let plain = if self.chaining == Chaining::Cbc { xor(*block, before) } else { *block };
            *block = self.key.encrypt(plain);
            before = *block;
        }
        Some(out)
    }

    /// `None` for what was not encrypted so.
    fn decrypt(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.is_padded() {
            return Some(self.stream(bytes, false));
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        if !rest.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut before = self.vector;
        for block in blocks {
            let plain = self.key.decrypt(*block);
            out.extend_from_slice(&if self.chaining == Chaining::Cbc { xor(plain, before) } else { plain });
            before = *block;
        }
        let padding = usize::from(*out.last()?);
        let is_right = (1..=BLOCK_BYTES).contains(&padding)
            && out[out.len() - padding..].iter().all(|byte| usize::from(*byte) == padding);
        is_right.then(|| {
            out.truncate(out.len() - padding);
            out
        })
    }

    /// The modes that make a stream of the cipher: bits of it are added to the text's.
    fn stream(&self, bytes: &[u8], encrypts: bool) -> Vec<u8> {
        let mut register = self.vector;
        let mut out = Vec::with_capacity(bytes.len());
        match self.chaining {
            Chaining::Cfb1 => {
                for byte in bytes {
                    let mut made = 0;
                    for bit in (0..8).rev() {
                        let given = byte >> bit & 1;
                        let changed = given ^ self.key.encrypt(register)[0] >> 7;
                        made |= changed << bit;
                        let fed = u128::from(if encrypts { changed } else { given });
                        register = (u128::from_be_bytes(register) << 1 | fed).to_be_bytes();
                    }
                    out.push(made);
                }
            }
            Chaining::Cfb8 => {
                for byte in bytes {
                    let changed = byte ^ self.key.encrypt(register)[0];
                    out.push(changed);
                    let fed = u128::from(if encrypts { changed } else { *byte });
                    register = (u128::from_be_bytes(register) << 8 | fed).to_be_bytes();
                }
            }
            _ => {
                for piece in bytes.chunks(BLOCK_BYTES) {
                    let made = self.key.encrypt(register);
                    let changed = piece.iter().zip(made).map(|(byte, key)| byte ^ key);
                    let start = out.len();
                    out.extend(changed);
                    register = made;
                    if self.chaining == Chaining::Cfb128 {
                        let fed = if encrypts { &out[start..] } else { piece };
                        register[..fed.len()].copy_from_slice(fed);
                    }
                }
            }
        }
        out
    }
}

/// Bytes of the key and the chaining of a value of `block_encryption_mode`.
fn mode_of(name: &str) -> (usize, Chaining) {
    let bytes = match name.split('-').nth(1) {
        Some("192") => 24,
        Some("256") => 32,
        _ => 16,
    };
    let chaining = match name.rsplit('-').next() {
        Some("cbc") => Chaining::Cbc,
        Some("cfb1") => Chaining::Cfb1,
        Some("cfb8") => Chaining::Cfb8,
        Some("cfb128") => Chaining::Cfb128,
        Some("ofb") => Chaining::Ofb,
        _ => Chaining::Ecb,
    };
    (bytes, chaining)
}

fn run(args: &Args<'_>, function: &str, cipher: impl Fn(&Cipher, &[u8]) -> Option<Vec<u8>>) -> SqlResult<Value> {
    let (key_bytes, chaining) = mode_of(&args.context.settings.block_encryption_mode);
    let mut vector = [0; BLOCK_BYTES];
    if chaining == Chaining::Ecb {
        if args.len() == 3 && !args.value(2).is_null() {
            args.warn(SqlError::new(ErrorCode::WarnOptionIgnored, &[&"IV"]))?;
        }
    } else {
        if args.len() < 3 {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&function]));
        }
        let given = if args.value(2).is_null() { Default::default() } else { args.encoded(2) };
        let first = given.first_chunk::<BLOCK_BYTES>();
        vector = *first.ok_or_else(|| SqlError::new(ErrorCode::AesInvalidIv, &[&function, &BLOCK_BYTES]))?;
    }
    let is_null = args.value(0).is_null() || args.value(1).is_null();
    let derived = derived_key(args, key_bytes, is_null)?;
    if is_null {
        return Ok(Value::Null);
    }
    let given = args.encoded(1);
    let key = match derived {
        Some(key) => key,
        None => {
            if given.len() > key_bytes {
                args.warn(SqlError::new(ErrorCode::WarnAesKeySize, &[&key_bytes]))?;
            }
            // A longer key is folded, a shorter one has zeros behind it.
            let mut key = vec![0; key_bytes];
            given.iter().enumerate().for_each(|(at, byte)| key[at % key_bytes] ^= byte);
            key
        }
    };
    let key = Key::new(&key).ok_or_else(|| SqlError::internal("a key of another length"))?;
    let changed = cipher(&Cipher { key, chaining, vector }, &args.encoded(0));
    Ok(changed.map_or(Value::Null, Value::Bytes))
}

/// The key that the named function derives from the given one.
fn derived_key(args: &Args<'_>, key_bytes: usize, is_null: bool) -> SqlResult<Option<Vec<u8>>> {
    if args.len() < 4 {
        return Ok(None);
    }
    let name = if args.value(3).is_null() { Default::default() } else { args.encoded(3) };
    let option = |at: usize| {
        if args.len() <= at {
            return Ok(Vec::new());
        }
        let given = (!args.value(at).is_null()).then(|| args.encoded(at).into_owned());
        let fits = given.filter(|option| option.len() < OPTION_BYTES);
        fits.ok_or_else(|| SqlError::new(ErrorCode::AesInvalidKdfOptionSize, &[&OPTION_BYTES]))
    };
    let mut key = vec![0; key_bytes];
    match &name[..] {
        b"hkdf" => {
            let (salt, info) = (option(4)?, option(5)?);
            if is_null {
                return Ok(None);
            }
            let salt = Some(&salt[..]).filter(|salt| !salt.is_empty());
            let derivation = hkdf::Hkdf::<Sha512>::new(salt, &args.encoded(1));
            derivation.expand(&info, &mut key).map_err(|_| SqlError::internal("a key too long to be derived"))?;
        }
        b"pbkdf2_hmac" => {
            let salt = option(4)?;
            let iterations = match args.len() {
                6 => args.i64(5)?,
                _ => i64::from(ITERATIONS),
            };
            let allowed = (i64::from(ITERATIONS)..=ITERATIONS_MAX).contains(&iterations);
            let iterations = u32::try_from(iterations).ok().filter(|_| allowed);
            let iterations = iterations.ok_or_else(|| SqlError::new(ErrorCode::AesInvalidKdfIterations, &[]))?;
            if is_null {
                return Ok(None);
            }
            pbkdf2::pbkdf2_hmac::<Sha512>(&args.encoded(1), &salt, iterations, &mut key);
        }
        _ => return Err(SqlError::new(ErrorCode::AesInvalidKdfName, &[])),
    }
    Ok(Some(key))
}
