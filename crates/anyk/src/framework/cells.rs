//! What the problems of users of one cell share: reading and drawing users, and the size of trainings.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use crate::channel::{sample_distances_m, sample_gains_db};
use crate::config::{ParameterValue, System};
use crate::exchange::{
    CellRecord, Extra, Input, Parameters, Reference, UserReader, UserRecord, to_json,
};
use crate::framework::{
    Answer, CellOptions, Choice, Counter, Error, OptionSpec, OptionValue, Options, Show, Text,
    check_count, counter,
};
use crate::invalid::Invalid;
use crate::limits::{MOST_TRAINING_SAMPLES, MOST_USERS};

/// How the users of an input are read.
#[derive(Debug, Clone)]
pub(crate) struct CellReading {
    pub(crate) system: System,
    pub(crate) reference: Option<Reference>,
    /// The parameters that users may repeat.
    pub(crate) parameters: Parameters,
}

/// What an `snr_db` in the input refers to.
pub(crate) fn reference_options() -> [OptionSpec; 2] {
    [
        OptionSpec::new(
            "reference-power-dbm",
            OptionValue::Number("DBM"),
            "Power P at which a user's `snr_db` was measured: α = SNR·N_0·B/P",
        )
        .of("Input")
        .rare(),
        OptionSpec::new(
            "reference-bandwidth-hz",
            OptionValue::Number("HZ"),
            "Bandwidth B of the noise in it",
        )
        .of("Input")
        .rare(),
    ]
}

impl CellReading {
    /// In a cell, with what options say about the input.
    pub(crate) fn new(system: System, options: &Options) -> Result<Self, Invalid> {
        let power = options.number("reference-power-dbm")?;
        let bandwidth = options.positive("reference-bandwidth-hz")?;
        let reference = match (power, bandwidth) {
            (Some(power_dbm), Some(bandwidth_hz)) => {
                if !(-200.0..=200.0).contains(&power_dbm) {
                    let expected = "a power in dBm from -200 to 200";
                    return Err(Invalid::number("reference_power_dbm", power_dbm, expected));
                }
                Some(Reference { power_dbm, bandwidth_hz })
            }
            (None, None) => None,
            (power, _) => {
                let missing = if power.is_some() { "bandwidth_hz" } else { "power_dbm" };
                return Err(Invalid::missing(format!("reference_{missing}"), "it with the other"));
            }
        };
        let mut parameters = Parameters::of(&system);
        parameters.set("reference_power_dbm", power.map(ParameterValue::from));
        parameters.set("reference_bandwidth_hz", bandwidth.map(ParameterValue::from));
        Ok(Self { system, reference, parameters })
    }

    /// For a problem that uses only some parameters of the cell.
    pub(crate) fn using(mut self, cell: CellOptions) -> Self {
        for name in cell.unused() {
            self.parameters.leave_out(name);
        }
        self
    }

    /// For a problem with a parameter of its own; none if an option could say it and does not.
    pub(crate) fn with(mut self, name: &'static str, value: Option<ParameterValue>) -> Self {
        self.parameters.set(name, value);
        self
    }

    /// What reads the users of a cell.
    pub(crate) fn reader(&self) -> UserReader<'_> {
        let Self { system, reference, parameters } = self;
        UserReader { system, reference: *reference, parameters }
    }

    /// The cells of an input, each with what is wrong with it.
    pub(crate) fn read(&self, input: Input<'_>) -> Vec<Result<CellRecord, Error>> {
        let cells = self.reader().read_each(input);
        cells.into_iter().map(|cell| cell.map_err(Error::from)).collect()
    }
}

/// Answers the cells of users that an input holds, one after the other. Each thread has a clone of the state.
pub(crate) fn cell_counter<
    S: Clone + Send + Sync + 'static,
    A: Serialize + Show + Send + 'static,
>(
    reading: CellReading,
    state: S,
    answer: impl Fn(&mut S, &System, &[UserRecord]) -> Result<A, Error> + Send + Sync + 'static,
) -> Box<dyn Counter> {
    let largest = Arc::<AtomicUsize>::default();
    counter(Arc::clone(&largest), state, move |state, input| {
        let answered = |cell: Result<CellRecord, Error>| -> Result<Box<dyn Answer>, Error> {
            let CellRecord { users, extra } = cell?;
            largest.fetch_max(users.len(), Ordering::Relaxed);
            let found = answer(state, &reading.system, &users)
                .map_err(|error| error.in_cell(&extra, input))?;
            // Who is not in the answer has a row in a table all the same.
            let everyone = if found.serves_all() { Vec::new() } else { users };
            Ok(in_cell(extra, everyone, found))
        };
        reading.read(input).into_iter().map(answered).collect()
    })
}

/// An answer with what the file says about its cell, and about users that it may leave out.
pub(crate) fn in_cell<A: Serialize + Show + Send + 'static>(
    extra: Extra,
    everyone: Vec<UserRecord>,
    answer: A,
) -> Box<dyn Answer> {
    if extra.is_empty() && everyone.is_empty() {
        Box::new(answer)
    } else {
        Box::new(InCell { everyone, extra, answer })
    }
}

#[derive(Serialize)]
struct InCell<A> {
    #[serde(skip)]
    everyone: Vec<UserRecord>,
    #[serde(flatten)]
    extra: Extra,
    #[serde(flatten)]
    answer: A,
}

impl<A: Show> Show for InCell<A> {
    const USER_FIELDS: &'static [&'static str] = A::USER_FIELDS;

    fn everyone(&self) -> &[UserRecord] {
        &self.everyone
    }

    fn show(&self) -> Text {
        self.answer.show()
    }

    fn serves_all(&self) -> bool {
        self.answer.serves_all()
    }

    fn cell(&self) -> Option<String> {
        self.extra.cell()
    }
}

/// How users are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserFormat {
    Json,
    Csv,
}

impl Choice for UserFormat {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("json", "An object for each cell, on a line of its own", Self::Json),
        ("csv", "One cell, with a header", Self::Csv),
    ];
}

/// The options of random users, for all problems of users of a cell.
pub(crate) fn sample_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new("k", OptionValue::Whole("K"), "Users in each cell; required"),
        OptionSpec::new("count", OptionValue::Whole("N"), "Number of cells").or("1"),
        OptionSpec::new("seed", OptionValue::Whole("SEED"), "Seed of the random numbers").or("0"),
        OptionSpec::choice::<UserFormat>("format", "Format of the output").or("json"),
    ]
}

/// Writes random users along the road: by their distances, or by their gains where those are no function of the
/// distance, or of one that only this command was told ([`System::draws_gains`]).
pub(crate) fn sample_users(
    options: &Options,
    system: &System,
    out: &mut dyn Write,
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct User {
        id: String,
        #[serde(flatten)]
        place: Place,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Place {
        DistanceM(f64),
        GainDb(f64),
    }
    #[derive(Serialize)]
    struct Cell {
        users: Vec<User>,
    }
    let size = options.whole("k", 1, MOST_USERS as u64)?;
    let size = size.ok_or_else(|| Invalid::missing("k", "a number of users"))?;
    #[allow(clippy::cast_possible_truncation)]
    let size = size as usize;
    let count = options.whole("count", 1, u64::MAX)?.unwrap_or(1);
    let seed = options.seed("seed", 0)?;
    let format = options.choice("format")?.unwrap_or(UserFormat::Json);
    if format == UserFormat::Csv && count > 1 {
        let expected = "1 for CSV, which holds one cell; JSON holds several";
        return Err(Invalid::value("count", count, expected).into());
    }
    check_count("count", count, size)?;
    let failed = |error| Error::write("standard output".as_ref(), error);
    for index in 0..count {
        let (road, path_loss, shadowing) = (system.road(), system.path_loss(), system.shadowing());
        let places: Vec<Place> = if system.draws_gains() {
            let gains = sample_gains_db(&road, &path_loss, shadowing, seed, size, index);
            gains.into_iter().map(|gain| Place::GainDb(gain.0)).collect()
        } else {
            let distances = sample_distances_m(&road, seed, size, index);
            distances.into_iter().map(Place::DistanceM).collect()
        };
        let users = places.into_iter().enumerate();
        let users = users.map(|(i, place)| User { id: format!("u{}", i + 1), place });
        match format {
            UserFormat::Json => {
                let cell = Cell { users: users.collect() };
                let json = to_json(&cell).map_err(Error::other)?;
                writeln!(out, "{json}").map_err(failed)?;
            }
            UserFormat::Csv => {
                let column = if system.draws_gains() { "gain_db" } else { "distance_m" };
                writeln!(out, "id,{column}").map_err(failed)?;
                for User { id, place: Place::DistanceM(value) | Place::GainDb(value) } in users {
                    writeln!(out, "{id},{value}").map_err(failed)?;
                }
            }
        }
    }
    Ok(())
}

/// Sizes and samples of a training on users of a cell.
pub(crate) fn training_cells(options: &Options) -> Result<(Vec<usize>, usize), Invalid> {
    let sizes = options.sizes("train-k")?.unwrap_or_else(|| vec![10]);
    #[allow(clippy::cast_possible_truncation)]
    let samples = options
        .whole("samples", 1, MOST_TRAINING_SAMPLES as u64)?
        .map_or(2000, |count| count as usize);
    Ok((sizes, samples))
}

/// Refuses users with a service class of their own, for problems that know none: a loss target or packets of a
/// user's own would be ignored. `because` says what they have in common.
pub(crate) fn refuse_own_class(
    records: &[UserRecord],
    system: &System,
    because: &str,
) -> Result<(), Error> {
    match records.iter().find(|record| record.service != system.service()) {
        None => Ok(()),
        Some(user) => Err(Error::OwnClass {
            user: user.id.clone(),
            expected: format!("none: {because}; urllc takes classes"),
        }),
    }
}
