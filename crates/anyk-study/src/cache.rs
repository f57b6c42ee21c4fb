//! Cache of results, in memory and in a folder. Studies share training runs through it, and an interrupted study
//! continues where it stopped.

use std::collections::HashMap;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::SOURCES;
use anyk::exchange::{check_folder, fingerprint, read_plain_file, to_json, write_atomically};
use anyk::framework::Error;

/// Cache of results. The key is the text of everything that a result depends on.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
    /// Results as JSON, by key. A result read from memory equals the one read from the folder.
    known: Mutex<HashMap<String, String>>,
}

/// Content of a cache file. The file name is only a hash of the key, so two keys can share it; the stored key tells
/// them apart.
#[derive(Serialize, Deserialize)]
struct Kept<K, T> {
    key: K,
    result: T,
}

impl Cache {
    /// Builds a cache in memory, and in a folder if one is given. The folder is created if it is missing.
    pub(crate) fn new(folder: Option<PathBuf>) -> Result<Self, Error> {
        if let Some(folder) = &folder {
            check_folder(folder).map_err(|error| Error::write(folder, error))?;
        }
        Ok(Self { folder, known: Mutex::default() })
    }

    /// Returns the cached result of this work with these settings, or computes and caches it.
    pub(crate) fn get_or<T: Serialize + DeserializeOwned>(
        &self,
        work: &str,
        settings: &impl Serialize,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Some(found) = self.find(work, settings)? {
            return Ok(found);
        }
        let made = make()?;
        self.keep(work, settings, &made)?;
        Ok(made)
    }

    /// Returns a cached result; `None` if there is none or it cannot be read.
    pub(crate) fn find<T: DeserializeOwned>(
        &self,
        work: &str,
        settings: &impl Serialize,
    ) -> Result<Option<T>, Error> {
        let key = key(&SOURCES, work, settings)?;
        if let Some(text) = self.known().get(&key) {
            return Ok(serde_json::from_str(text).ok());
        }
        let bytes = self.file(&key).and_then(|file| read_plain_file(&file).ok());
        let kept = bytes.and_then(|bytes| serde_json::from_slice::<Kept<String, T>>(&bytes).ok());
        Ok(kept.filter(|kept| kept.key == key).map(|kept| kept.result))
    }

    /// Stores a result.
    pub(crate) fn keep<T: Serialize>(
        &self,
        work: &str,
        settings: &impl Serialize,
        result: &T,
    ) -> Result<(), Error> {
        let key = key(&SOURCES, work, settings)?;
        if let Some(file) = self.file(&key) {
            let bytes = to_json(&Kept { key: &key, result }).map_err(Error::other)?;
            write_atomically(&file, bytes.as_bytes())
                .map_err(|error| Error::write(&file, error))?;
        }
        let text = serde_json::to_string(result).map_err(Error::other)?;
        self.known().insert(key, text);
        Ok(())
    }

    /// Path of the file for a key, if the cache has a folder.
    fn file(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(format!("{:016x}.json", fingerprint(key))))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, String>> {
        // Entries are inserted and removed whole, so a panicking thread leaves no partial entry.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key of a result: the sources, the kind of work, and its settings.
fn key(sources: &str, work: &str, settings: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(&(sources, work, settings)).map_err(Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Temporary folder, removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("anyk-cache-{name}-{}", std::process::id())))
        }

        fn only_file(&self) -> PathBuf {
            let files: Vec<_> = fs::read_dir(&self.0).unwrap().map(|f| f.unwrap().path()).collect();
            assert_eq!(files.len(), 1);
            files[0].clone()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn cache(folder: &Path) -> Cache {
        Cache::new(Some(folder.to_owned())).unwrap()
    }

    #[test]
    fn a_key_holds_all_that_a_result_depends_on() {
        let (library, studies) = (anyk::SOURCES, env!("ANYK_SOURCES"));
        assert_eq!((library.len(), studies.len()), (16, 16));
        assert!(SOURCES.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let settings = (6e-6, [1, 2], "second \"of\" two");
        let text = key(&SOURCES, "training", &settings).unwrap();
        assert_eq!(text, key(&SOURCES, "training", &settings).unwrap());
        assert!(text.contains(&*SOURCES) && text.contains("training") && text.contains("6e-6"));
        // Other sources, other work and other settings give other keys.
        for other in [
            key(&format!("0123456789abcdef{studies}"), "training", &settings),
            key(&format!("{library}0123456789abcdef"), "training", &settings),
            key(&SOURCES, "test", &settings),
            key(&SOURCES, "training", &(6e-6, [1, 3], "second \"of\" two")),
        ] {
            let other = other.unwrap();
            assert_ne!(text, other);
            assert_ne!(fingerprint(&text), fingerprint(&other));
        }
    }

    #[test]
    fn results_are_made_once_and_read_back_bit_by_bit() {
        let folder = Folder::new("once");
        let made: f64 = 0.1 + 0.2;
        let again = || -> Result<f64, Error> { panic!("it is kept") };
        for cache in [cache(&folder.0), Cache::default()] {
            assert_eq!(cache.get_or("work", &1, || Ok(made)).unwrap().to_bits(), made.to_bits());
            assert_eq!(cache.get_or("work", &1, again).unwrap().to_bits(), made.to_bits());
            assert_eq!(cache.find::<f64>("work", &2).unwrap(), None);
        }
        let another = cache(&folder.0).get_or("work", &1, again).unwrap();
        assert_eq!(another.to_bits(), made.to_bits());
    }

    #[test]
    fn a_file_with_another_key_is_not_taken_for_the_result() {
        let folder = Folder::new("foreign");
        cache(&folder.0).keep("work", &1, &7).unwrap();
        let file = folder.only_file();
        let text = fs::read_to_string(&file).unwrap();
        let kept: Kept<String, i32> = serde_json::from_str(&text).unwrap();
        assert_eq!((kept.key, kept.result), (key(&SOURCES, "work", &1).unwrap(), 7));
        // A file whose sources differ although the hash of the key is the same.
        fs::write(&file, text.replace(&*SOURCES, "0123456789abcdef")).unwrap();
        assert_eq!(cache(&folder.0).find::<i32>("work", &1).unwrap(), None);
        for damaged in [&text[..text.len() - 3], "7", "", "{}"] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(cache(&folder.0).find::<i32>("work", &1).unwrap(), None);
        }
        fs::write(&file, text).unwrap();
        assert_eq!(cache(&folder.0).find("work", &1).unwrap(), Some(7));
    }
}
