//! Users as columns of numbers, for callers that hold them.

use super::{COLUMNS, PLACES, UserReader};
use crate::qos::ServiceClass;

/// The gain itself, which files have in dB.
const GAIN: &str = "gain";

impl UserReader<'_> {
    /// Users from columns by the names that files have, and `gain` for the power ratio itself: one that says where
    /// they are, and those of their service classes, each with one number for each user or one for all. An error says
    /// what is wrong, and with which user, counted from 0.
    pub fn of_columns(
        &self,
        columns: &[(&str, &[f64])],
    ) -> Result<Vec<(f64, ServiceClass)>, String> {
        let is_place = |name: &str| name == GAIN || COLUMNS[PLACES].contains(&name);
        let is_service = |name: &str| COLUMNS[PLACES.end..].contains(&name);
        if let Some((name, _)) =
            columns.iter().find(|(name, _)| !is_place(name) && !is_service(name))
        {
            let (places, own) = (COLUMNS[PLACES].join(", "), COLUMNS[PLACES.end..].join(", "));
            return Err(format!("{name} is not known, expected {GAIN}, {places}, or {own}"));
        }
        let mut places = columns.iter().filter(|(name, _)| is_place(name));
        let (name, values) = match (places.next(), places.next()) {
            (Some(found), None) => found,
            (Some((one, _)), Some((two, _))) => {
                return Err(format!("{one} and {two} are given, expected only one of them"));
            }
            _ => {
                let names = COLUMNS[PLACES].join(", ");
                return Err(format!("none of {GAIN}, {names} is given, expected one of them"));
            }
        };
        if values.is_empty() {
            return Err(format!("{name} is empty, expected a number for each user, at least one"));
        }
        let default = self.system.service();
        let mut users = Vec::with_capacity(values.len());
        let column = COLUMNS.iter().position(|known| known == name);
        for (user, &value) in values.iter().enumerate() {
            let gain = match column {
                None if value > 1e-60 && value <= 1.0 => Ok(value),
                None => Err(Some("a power ratio above 1e-60 and at most 1".to_owned())),
                Some(column) => self.gain(column, value),
            };
            let gain = gain.map_err(|why| {
                let expected =
                    why.unwrap_or_else(|| column.map_or(String::new(), |at| self.expected(at)));
                format!("user {user}: {name} is {value}, expected {expected}")
            })?;
            users.push((gain, default));
        }
        for (name, values) in columns.iter().filter(|(name, _)| is_service(name)) {
            if values.len() != 1 && values.len() != users.len() {
                return Err(format!(
                    "{name} has {} numbers, expected {}: one for each user, or one for all",
                    values.len(),
                    users.len()
                ));
            }
            for (user, (_, service)) in users.iter_mut().enumerate() {
                let value = values[if values.len() == 1 { 0 } else { user }];
                match *name {
                    "epsilon" => service.epsilon = value,
                    "packet_bits" => service.packet_bits = value,
                    _ => service.arrival_rate = value,
                }
            }
        }
        // Neighbours mostly share their class.
        let mut last = default;
        for (user, (_, service)) in users.iter().enumerate() {
            if *service != last {
                service.validate().map_err(|error| format!("user {user}: {error}"))?;
                last = *service;
            }
        }
        Ok(users)
    }
}
