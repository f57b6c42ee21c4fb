//! Networks from named arrays: NumPy archives and MATLAB files.

use std::fmt::Display;

use crate::exchange::gains::{NetworkRecord, instances, matrices, need, slip_of_field};
use crate::exchange::input_error::shorten;
use crate::exchange::mat::MatFile;
use crate::exchange::npy::Array;
use crate::exchange::npz::{Archive, Entry, NpzError};
use crate::exchange::{InputError, LinkField, LinkValues};
use crate::memory::{MemoryBudget, product};

const ARRAY_FORMAT: &str = "a NumPy array of whole numbers or floats";
/// Name of the array with the gains.
const GAINS: &str = "gains";
/// Arrays of an archive that are looked at for one of a fitting shape.
const MOST_ARRAYS: usize = 100;
/// Memory of a number of a link: in its array, and in its network.
const VALUE_BYTES: usize = 24;

/// Arrays with names, of which only shapes are known yet.
trait Store {
    type Array;
    /// The array of a name.
    fn find(&mut self, name: &str) -> Result<Option<Self::Array>, String>;
    /// Names of arrays of numbers.
    fn names(&self) -> Vec<String>;
    fn shape(array: &Self::Array) -> &[usize];
    /// The numbers; its memory has been asked for.
    fn read(&mut self, array: &Self::Array) -> Result<Array, String>;
    /// How a shape of three axes is made where they lie in another order.
    const HINT: &'static str;
}

impl Store for Archive<'_> {
    type Array = Entry;
    const HINT: &'static str = "";

    fn find(&mut self, name: &str) -> Result<Option<Entry>, String> {
        Self::find(self, name).map_err(|error: NpzError| error.to_string())
    }

    fn names(&self) -> Vec<String> {
        self.arrays(MOST_ARRAYS)
    }

    fn shape(array: &Entry) -> &[usize] {
        &array.shape
    }

    fn read(&mut self, array: &Entry) -> Result<Array, String> {
        let values = self.numbers(array).map_err(|error| error.to_string())?;
        Ok(Array { shape: array.shape.clone(), order: array.order, values })
    }
}

impl Store for MatFile<'_> {
    /// Its place, and its shape.
    type Array = (usize, Vec<usize>);
    const HINT: &'static str = "; permute(gains,[3 1 2]) makes N×K×K of K×K×N";

    fn find(&mut self, name: &str) -> Result<Option<Self::Array>, String> {
        match self.variables().iter().position(|variable| variable.name == name) {
            None => Ok(None),
            Some(place) => {
                let shape = self.numeric_shape(place).map_err(|error| error.to_string())?;
                Ok(Some((place, shape)))
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let numeric = (0..self.variables().len()).filter(|&at| self.numeric_shape(at).is_ok());
        numeric.take(MOST_ARRAYS).map(|place| self.variables()[place].name.clone()).collect()
    }

    fn shape(array: &Self::Array) -> &[usize] {
        &array.1
    }

    fn read(&mut self, (place, shape): &Self::Array) -> Result<Array, String> {
        let values = self.numbers(*place).map_err(|error| error.to_string())?;
        Ok(Array { shape: shape.clone(), order: npyz::Order::Fortran, values })
    }
}

pub(super) fn from_npz(bytes: &[u8], file: &str) -> Result<Vec<NetworkRecord>, InputError> {
    match Archive::open(bytes, ARRAY_FORMAT) {
        Err(error) => Err(InputError::whole(file, &error)),
        Ok(archive) => read(archive, bytes.len(), file),
    }
}

pub(super) fn from_mat(bytes: &[u8], file: &str) -> Result<Vec<NetworkRecord>, InputError> {
    match MatFile::open(bytes) {
        Err(error) => Err(InputError::whole(file, &error)),
        Ok(mat) => read(mat, bytes.len(), file),
    }
}

fn read<S: Store>(
    mut store: S,
    file_bytes: usize,
    file: &str,
) -> Result<Vec<NetworkRecord>, InputError> {
    let fail = |message: &dyn Display| InputError::whole(file, message);
    let (name, gains) = find_gains(&mut store).map_err(|error| fail(&error))?;
    // What else is in it is nobody's business here, unless it is a slip of something that is.
    let others = store.names();
    let slip = others.iter().filter(|other| **other != name).find_map(|other| {
        slip_of_field(other).map(|meant| (shorten(&format!("{other:?}")), meant))
    });
    if let Some((other, meant)) = slip {
        let message = format!("the array {other} looks like a slip of {meant:?}, expected that");
        return Err(fail(&message));
    }
    let shape = S::shape(&gains).to_vec();
    let mut fields = Vec::new();
    for field in LinkField::ALL {
        if let Some(array) = store.find(field.name()).map_err(|error| fail(&error))? {
            fields.push((field, array));
        }
    }
    // Before anything of it is unpacked.
    let values = fields.iter().map(|(_, array)| product(S::shape(array)));
    let values = values.fold(0, u128::saturating_add).saturating_mul(VALUE_BYTES as u128);
    let all = need(&shape).saturating_add(values).saturating_add(file_bytes as u128);
    MemoryBudget::current().allow("the gains in it", all).map_err(|error| fail(&error))?;
    let array = store.read(&gains).map_err(|error| fail(&error))?;
    let mut networks = matrices(&array, &format!("{file}: {name}"))?;
    drop(array);
    let (count, links) = (instances(&shape), shape.last().copied().unwrap_or_default());
    for (field, array) in fields {
        let array = store.read(&array).map_err(|error| fail(&error))?;
        let values = LinkValues::of_array(&array, (count, links), field);
        let values = values.map_err(|error| fail(&error))?;
        for (index, network) in networks.iter_mut().enumerate() {
            let values =
                values.of_network((index, Some(count)), links, field).map_err(|error| {
                    InputError::new(file, &format!("instance {index}"), error.to_string())
                })?;
            network.set(field, values);
        }
    }
    Ok(networks)
}

/// The array of gains by its name, or the only one that can be it.
fn find_gains<S: Store>(store: &mut S) -> Result<(String, S::Array), String> {
    if let Some(array) = store.find(GAINS)? {
        let shape = S::shape(&array);
        if fits(shape) {
            return Ok((GAINS.to_owned(), array));
        }
        let (shape, hint) = (shorten(&format!("{shape:?}")), S::HINT);
        return Err(format!(
            "{GAINS} has the shape {shape}, expected K×K or N×K×K, at least one link{hint}"
        ));
    }
    let names = store.names();
    let mut fitting = Vec::new();
    let reserved = |name: &str| LinkField::ALL.iter().any(|field| field.name() == name);
    for name in names.iter().filter(|name| !reserved(name)) {
        // What cannot be read is not what is meant, as long as something else can be it.
        if let Ok(Some(array)) = store.find(name)
            && fits(S::shape(&array))
        {
            fitting.push((name.clone(), array));
        }
    }
    // A single number is a matrix of one link, but hardly meant as one beside a larger array.
    if fitting.len() > 1 {
        fitting.retain(|(_, array)| S::shape(array).iter().any(|&axis| axis > 1));
    }
    let quoted = |names: &[&str]| shorten(&names.join(", "));
    match fitting.len() {
        1 => fitting.pop().ok_or_else(String::new),
        0 => {
            let found: Vec<&str> = names.iter().map(String::as_str).collect();
            let found = if found.is_empty() { "none".to_owned() } else { quoted(&found) };
            Err(format!("no array is {GAINS} or has the shape K×K or N×K×K; arrays of it: {found}"))
        }
        _ => {
            let names: Vec<&str> = fitting.iter().map(|(name, _)| name.as_str()).collect();
            let names = quoted(&names);
            Err(format!("several arrays can be the gains ({names}), expected one named {GAINS}"))
        }
    }
}

/// One square matrix of at least one link, or several.
fn fits(shape: &[usize]) -> bool {
    match *shape {
        [rows, columns] | [_, rows, columns] => {
            rows == columns && shape.iter().all(|&axis| axis > 0)
        }
        _ => false,
    }
}
