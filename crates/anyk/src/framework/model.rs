//! File format of learned policies: a record of the training and named tensors, the same for all problems.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::exchange::container::{Container, ContainerError};
use crate::exchange::{Tensor, read_plain_file};
use crate::framework::{FORMER_PRICE, ModelError, PRICE};

const KIND: &str = "model";
/// Version of the format. Version 1 stands for the four formats of AnyK 0.1.
const VERSION: u64 = 2;

/// Learned policy that can be written to a file and read back.
pub trait Stored: Sized {
    /// Record of the training, as JSON: its settings and measurements.
    type Record: Serialize + DeserializeOwned;

    /// Problems that models of this type can belong to.
    const PROBLEMS: &'static [&'static str];

    /// Returns the problem of this model.
    fn problem(&self) -> &'static str {
        Self::PROBLEMS[0]
    }

    /// Returns the training method, such as `p-gnn` or `price`.
    fn method(&self) -> &'static str;

    /// Returns the record of the training.
    fn record(&self) -> &Self::Record;

    /// Returns the parameters as named tensors.
    fn tensors(&self) -> Vec<Tensor>;

    /// Builds a model from a record and tensors. Returns an error that names the inconsistency if they do not fit
    /// together. The function must take every tensor.
    fn from_parts(record: Self::Record, tensors: &mut Tensors) -> Result<Self, ModelError>;

    /// Returns the bytes of the model file. The same model always gives the same bytes.
    fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let (problem, method) = (self.problem(), self.method());
        let content = Content { problem, method, record: self.record(), run: None };
        Container::new(KIND, VERSION, &content, self.tensors())
            .and_then(|container| container.to_bytes())
            .map_err(ModelError::from)
    }

    /// Reads a model of this kind.
    fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        ModelFile::read(bytes)?.into_model()
    }
}

#[derive(Serialize)]
struct Content<'a, R> {
    problem: &'a str,
    method: &'a str,
    record: &'a R,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FoundContent {
    problem: String,
    method: String,
    record: Box<RawValue>,
    #[serde(default)]
    run: Option<String>,
}

/// Model file of any problem, after all checks except those of the problem itself.
#[derive(Debug)]
pub struct ModelFile {
    problem: String,
    method: String,
    record: Box<RawValue>,
    run: Option<String>,
    tensors: Tensors,
}

impl ModelFile {
    /// Method name in files that contain an outer function instead of a policy.
    pub(crate) const OUTER_FUNCTION: &'static str = "outer-function";

    /// Reads a file. Returns an error if it is damaged, truncated, not a model file, or of an older or newer format.
    pub fn read(bytes: &[u8]) -> Result<Self, ModelError> {
        let file = Container::from_bytes(bytes, KIND, VERSION)?;
        let FoundContent { problem, mut method, record, run } = file.content()?;
        if method == FORMER_PRICE {
            PRICE.clone_into(&mut method);
        }
        Ok(Self { problem, method, record, run, tensors: Tensors(file.into_tensors()) })
    }

    /// Reads the file at `path` if it is the result of this run.
    pub(crate) fn of_run(path: &Path, run: &str) -> Option<Self> {
        let file = Self::read(&read_plain_file(path).ok()?).ok()?;
        (file.run.as_deref() == Some(run)).then_some(file)
    }

    /// Returns the bytes of a model file with the ID of the run that produced it.
    pub(crate) fn with_run(bytes: &[u8], run: &str) -> Result<Vec<u8>, ModelError> {
        let Self { problem, method, record, tensors, .. } = Self::read(bytes)?;
        let content =
            Content { problem: &problem, method: &method, record: &record, run: Some(run) };
        Ok(Container::new(KIND, VERSION, &content, tensors.0)?.to_bytes()?)
    }

    /// Returns whether the file at `path` is a model whose checksum holds.
    pub fn is_at(path: &Path) -> bool {
        read_plain_file(path).is_ok_and(|bytes| Self::read(&bytes).is_ok())
    }

    /// Returns the problem of the model.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns the training method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the record of the training and its measurements, as JSON.
    pub fn record(&self) -> &RawValue {
        &self.record
    }

    /// Returns the names and shapes of the tensors.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.tensors.0.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice()))
    }

    /// Builds the model, with all checks of its problem.
    pub fn into_model<M: Stored>(mut self) -> Result<M, ModelError> {
        if !M::PROBLEMS.contains(&self.problem.as_str()) {
            let expected = M::PROBLEMS.join(" or ");
            let message =
                format!("the model is for the problem {:?}, expected {expected}", self.problem);
            return Err(ModelError::Format(message));
        }
        let record = serde_json::from_str(self.record.get())
            .map_err(|error| ModelError::Format(error.to_string()))?;
        let model = M::from_parts(record, &mut self.tensors)?;
        if (model.problem(), model.method()) != (&self.problem, &self.method) {
            let (problem, method) = (self.problem, self.method);
            let message = format!("the record does not describe a {method} model for {problem}");
            return Err(ModelError::Format(message));
        }
        match self.tensors.0.first() {
            None => Ok(model),
            Some(left) => {
                let message = format!("the model does not use the tensor {}", left.name);
                Err(ModelError::Format(message))
            }
        }
    }
}

/// Tensors of a file, which are taken out one by one.
#[derive(Debug, Default)]
pub struct Tensors(Vec<Tensor>);

impl Tensors {
    /// Takes out a tensor with one axis.
    pub fn take(&mut self, name: &str) -> Result<Vec<f64>, ModelError> {
        let tensor = self.remove(name)?;
        if tensor.shape.len() != 1 {
            let message = format!("the tensor {name} has the shape {:?}", tensor.shape);
            return Err(ModelError::Content(message + ", expected one axis"));
        }
        Ok(tensor.values)
    }

    /// Removes a tensor that only older files contain.
    pub(crate) fn discard(&mut self, name: &str) {
        self.0.retain(|tensor| tensor.name != name);
    }

    fn remove(&mut self, name: &str) -> Result<Tensor, ModelError> {
        let missing = || ModelError::Format(format!("the tensor {name} is missing"));
        let index = self.0.iter().position(|tensor| tensor.name == name).ok_or_else(missing)?;
        let tensor = self.0.remove(index);
        if !tensor.values.iter().all(|value| value.is_finite()) {
            let message = format!("the tensor {name} contains a number that is not finite");
            return Err(ModelError::Content(message));
        }
        Ok(tensor)
    }

    /// Takes out the parts of a network and concatenates its parameters.
    pub fn take_network(
        &mut self,
        network: &str,
        layout: &[(String, Vec<usize>)],
    ) -> Result<Vec<f64>, ModelError> {
        let mut parameters = Vec::new();
        for (part, shape) in layout {
            let name = format!("{network}.{part}");
            let found = self.remove(&name)?;
            if found.shape != *shape {
                return Err(ModelError::Content(format!(
                    "the tensor {name} has the shape {:?}, expected {shape:?}",
                    found.shape
                )));
            }
            parameters.extend(found.values);
        }
        Ok(parameters)
    }
}

/// Returns the parameters of a network as named tensors.
pub fn network_tensors(
    network: &str,
    layout: &[(String, Vec<usize>)],
    parameters: &[f64],
) -> Vec<Tensor> {
    let mut rest = parameters;
    layout
        .iter()
        .map(|(part, shape)| {
            let count: usize = shape.iter().product();
            let (values, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            Tensor {
                name: format!("{network}.{part}"),
                shape: shape.clone(),
                values: values.to_vec(),
            }
        })
        .collect()
}

impl From<ContainerError> for ModelError {
    fn from(error: ContainerError) -> Self {
        match error {
            ContainerError::Damaged(message) => Self::Format(message),
            ContainerError::Old => Self::Old,
            ContainerError::Newer { found, known } => Self::Newer { found, known },
        }
    }
}
