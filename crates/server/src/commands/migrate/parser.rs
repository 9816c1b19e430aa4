//! Parsers for the locations of a migration. Their errors do not quote the value, which may hold a password.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::Arg;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

/// A value given as the argument.
#[derive(Clone)]
pub(super) struct FromArgument<T>(pub(super) PhantomData<T>);

/// A value in the file that the argument names: other users can list the arguments of a process, but not read
/// its files.
#[derive(Clone)]
pub(super) struct FromFile<T>(pub(super) PhantomData<T>);

impl<T: FromStr<Err = String> + Clone + Send + Sync + 'static> TypedValueParser for FromArgument<T> {
    type Value = T;

    fn parse_ref(&self, _: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let text = value.to_str().ok_or_else(|| invalid(arg, "the value is not valid UTF-8"))?;
        text.parse().map_err(|reason: String| invalid(arg, &reason))
    }
}

impl<T: FromStr<Err = String> + Clone + Send + Sync + 'static> TypedValueParser for FromFile<T> {
    type Value = T;

    fn parse_ref(&self, _: &clap::Command, arg: Option<&Arg>, path: &OsStr) -> Result<T, clap::Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| invalid(arg, &format!("cannot read {}: {cause}", path.display())))?;
        text.trim().parse().map_err(|reason: String| invalid(arg, &reason))
    }
}

fn invalid(arg: Option<&Arg>, reason: &str) -> clap::Error {
    let flag = arg.and_then(Arg::get_long).map(|flag| format!("--{flag}: ")).unwrap_or_default();
    clap::Error::raw(ErrorKind::ValueValidation, format!("{flag}{reason}\n"))
}
