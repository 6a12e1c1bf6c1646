//! The JSON of values where Arrow's own would be no good: times and dates (its form has no zone, and writes an error into the
//! value), bytes (hexadecimal) and UUIDs (bytes).

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder};
use arrow_schema::{ArrowError, DataType, FieldRef, TimeUnit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Span};

/// Makes the encoders, and notes what they cannot write: an encoder has no way to say so.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    problem: Arc<Mutex<Option<String>>>,
}

impl Values {
    /// How Arrow is to write JSON with these.
    pub(super) fn options(&self) -> EncoderOptions {
        EncoderOptions::default()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(self.clone()))
    }

    /// What could not be written since the last time.
    pub(super) fn take_problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn times<'a, T: ArrowPrimitiveType<Native = i64>>(
        &self,
        array: &'a dyn Array,
        since_1970: fn(i64) -> SignedDuration,
    ) -> Box<dyn Encoder + 'a> {
        let array = array.as_primitive::<T>();
        self.text(array, move |value| moment(since_1970(value)))
    }

    fn text<'a, T: ArrowPrimitiveType>(
        &self,
        array: &'a PrimitiveArray<T>,
        write: impl Fn(T::Native) -> Option<String> + 'a,
    ) -> Box<dyn Encoder + 'a> {
        let problem = Arc::clone(&self.problem);
        Box::new(Text(move |index: usize| {
            let value = array.value(index);
            write(value).unwrap_or_else(|| {
                let beyond = "a time or date lies outside of the years -9999 to 9999".to_owned();
                *problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(beyond);
                String::new()
            })
        }))
    }
}

impl EncoderFactory for Values {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => {
                self.times::<TimestampSecondType>(array, SignedDuration::from_secs)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.times::<TimestampMillisecondType>(array, SignedDuration::from_millis)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.times::<TimestampMicrosecondType>(array, SignedDuration::from_micros)
            }
            // Down to whole microseconds, before 1970 too.
            DataType::Timestamp(TimeUnit::Nanosecond, _) => self
                .times::<TimestampNanosecondType>(array, |value| {
                    SignedDuration::from_micros(value.div_euclid(1_000))
                }),
            DataType::Date32 => self.text(array.as_primitive::<Date32Type>(), date),
            DataType::FixedSizeBinary(16) if field.extension_type_name() == Some("arrow.uuid") => {
                let array = array.as_fixed_size_binary();
                Box::new(Text(|index| {
                    uuid::Uuid::from_slice(array.value(index))
                        .unwrap_or_default()
                        .to_string()
                }))
            }
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Box::new(Text(|index| STANDARD.encode(array.value(index))))
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Box::new(Text(|index| STANDARD.encode(array.value(index))))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

/// Not jiff's own moments, which end a day before 9999 does.
fn moment(since_1970: SignedDuration) -> Option<String> {
    let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let moment = epoch.checked_add(since_1970).ok()?;
    Some(format!("{moment:.6}Z"))
}

fn date(days: i32) -> Option<String> {
    let epoch = Date::constant(1970, 1, 1);
    // The span itself knows no more days than there are in its years.
    let date = epoch.checked_add(Span::new().try_days(days).ok()?).ok()?;
    Some(date.to_string())
}

/// Writes a text in which nothing is to be escaped, in quotes.
struct Text<F>(F);

impl<F: FnMut(usize) -> String> Encoder for Text<F> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice((self.0)(index).as_bytes());
        out.push(b'"');
    }
}
