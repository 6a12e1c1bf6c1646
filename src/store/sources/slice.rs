//! A slice of a source, as a user writes it: columns beside literals, joined by `and`. Pure.
//!
//! The text is taken apart and never reaches the database: what is made of it holds the same columns and literals, quoted
//! anew. The grammar is that of `slice_of` on PostgreSQL, where a bare name is of ASCII and whatever its case.
//!
//! ```text
//!  slice    term ("and" term)*
//!  term     column ( operator literal | "in" "(" literal ("," literal)* ")" | "is" ["not"] "null" )
//!  column   a bare name, or one in double quotes
//!  operator = <> != <= >= < >
//!  literal  ["date" | "timestamp" | "timestamptz"] 'text' | a number | "true" | "false"
//! ```

/// Terms, all of which must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) terms: Vec<Term>,
}

/// A column, and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) column: Column,
    pub(super) test: Test,
}

/// The name of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    /// Whatever its case.
    Bare(String),
    /// To the letter.
    Quoted(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    Compare(&'static str, Literal),
    In(Vec<Literal>),
    IsNull,
    IsNotNull,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// As it is written.
    Number(String),
    True,
    False,
}

/// Longer ones before those that they begin with.
const OPERATORS: [&str; 7] = ["<>", "!=", "<=", ">=", "=", "<", ">"];
const TYPES: [&str; 3] = ["date", "timestamp", "timestamptz"];

impl Slice {
    /// Takes `text` apart; `None` if it is anything else than a slice.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = Rest(text);
        let mut terms = vec![rest.term()?];
        while rest.word("and") {
            terms.push(rest.term()?);
        }
        rest.0.is_empty().then_some(Self { terms })
    }
}

impl Column {
    /// Whether this is the column `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        match self {
            Self::Bare(bare) => bare.eq_ignore_ascii_case(name),
            Self::Quoted(quoted) => quoted == name,
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Bare(name) | Self::Quoted(name) => name,
        }
    }
}

/// What is left to be read. What a method does not find is left as it was, or the whole is no slice.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    fn term(&mut self) -> Option<Term> {
        let column = self.column()?;
        if self.word("is") {
            let test = if self.word("not") {
                Test::IsNotNull
            } else {
                Test::IsNull
            };
            return self.word("null").then_some(Term { column, test });
        }
        if self.word("in") {
            let test = Test::In(self.list()?);
            return Some(Term { column, test });
        }
        let operator = OPERATORS.into_iter().find(|operator| self.mark(operator))?;
        let test = Test::Compare(operator, self.literal()?);
        Some(Term { column, test })
    }

    fn column(&mut self) -> Option<Column> {
        match self.quoted('"') {
            Some(name) => (!name.is_empty()).then_some(Column::Quoted(name)),
            None => self.name().map(|name| Column::Bare(name.to_owned())),
        }
    }

    /// `(literal, literal)`.
    fn list(&mut self) -> Option<Vec<Literal>> {
        if !self.mark("(") {
            return None;
        }
        let mut literals = vec![self.literal()?];
        while self.mark(",") {
            literals.push(self.literal()?);
        }
        self.mark(")").then_some(literals)
    }

    fn literal(&mut self) -> Option<Literal> {
        if TYPES.iter().any(|name| self.word(name)) {
            return self.quoted('\'').map(Literal::Text);
        }
        if let Some(text) = self.quoted('\'') {
            return Some(Literal::Text(text));
        }
        for (word, literal) in [("true", Literal::True), ("false", Literal::False)] {
            if self.word(word) {
                return Some(literal);
            }
        }
        self.number().map(|number| Literal::Number(number.to_owned()))
    }

    /// A word, in whatever case; not the beginning of a longer one.
    fn word(&mut self, wanted: &str) -> bool {
        let mut ahead = Rest(self.blank());
        let found = ahead.name().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        if found {
            self.0 = ahead.0;
        }
        found
    }

    fn name(&mut self) -> Option<&'t str> {
        let text = self.blank();
        if !text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            return None;
        }
        let end = text.find(|letter| !is_of_name(letter)).unwrap_or(text.len());
        Some(self.take(text, end))
    }

    fn mark(&mut self, wanted: &str) -> bool {
        match self.blank().strip_prefix(wanted) {
            Some(rest) => {
                self.0 = Rest(rest).blank();
                true
            }
            None => false,
        }
    }

    /// `-12.50`.
    fn number(&mut self) -> Option<&'t str> {
        let text = self.blank();
        let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
        let sign = usize::from(text.starts_with(['-', '+']));
        let mut end = sign + digits(sign);
        if end == sign {
            return None;
        }
        if text[end..].starts_with('.') {
            let fraction = digits(end + 1);
            if fraction == 0 {
                return None;
            }
            end += 1 + fraction;
        }
        Some(self.take(text, end))
    }

    /// What stands between two of these quotes, in which a doubled one stands for itself.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let text = self.blank().strip_prefix(quote)?;
        let mut content = String::new();
        let mut letters = text.char_indices();
        while let Some((place, letter)) = letters.next() {
            if letter != quote {
                content.push(letter);
                continue;
            }
            let after = &text[place + 1..];
            if !after.starts_with(quote) {
                self.0 = Rest(after).blank();
                return Some(content);
            }
            content.push(quote);
            letters.next();
        }
        None
    }

    /// What stands behind the blanks.
    fn blank(&self) -> &'t str {
        self.0.trim_start_matches([' ', '\t', '\r', '\n'])
    }

    fn take(&mut self, text: &'t str, end: usize) -> &'t str {
        self.0 = Rest(&text[end..]).blank();
        &text[..end]
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, Test)> {
        let slice = Slice::parse(text).unwrap_or_else(|| panic!("{text}"));
        let terms = slice.terms.into_iter();
        terms
            .map(|term| (term.column.name().to_owned(), term.test))
            .collect()
    }

    fn text(text: &str) -> Literal {
        Literal::Text(text.to_owned())
    }

    #[test]
    fn columns_beside_literals_are_taken_apart() {
        let one = |column: &str, test| vec![(column.to_owned(), test)];
        assert_eq!(
            parsed("event_date = '2025-05-18'"),
            one("event_date", Test::Compare("=", text("2025-05-18")))
        );
        assert_eq!(
            parsed("\"Event\"\"Day\"<>DATE'it''s'"),
            one("Event\"Day", Test::Compare("<>", text("it's")))
        );
        assert_eq!(
            parsed("n>=-12.50"),
            one("n", Test::Compare(">=", Literal::Number("-12.50".to_owned())))
        );
        assert_eq!(
            parsed("n = +1"),
            one("n", Test::Compare("=", Literal::Number("+1".to_owned())))
        );
        assert_eq!(
            parsed("region in ( 'eu' ,'us')\n"),
            one("region", Test::In(vec![text("eu"), text("us")]))
        );
        assert_eq!(parsed("\tx is not null "), one("x", Test::IsNotNull));
        let both = parsed("x IS NULL and y = true AND z != False");
        assert_eq!(both.len(), 3, "{both:?}");
        assert_eq!(both[1].1, Test::Compare("=", Literal::True));
        assert_eq!(parsed("a = 'x'''and b = 1")[0].1, Test::Compare("=", text("x'")));
        assert_eq!(parsed("and = 1 and \"or\" = 2").len(), 2);
    }

    #[test]
    fn nothing_else_is_a_slice() {
        for other in [
            "",
            "1=1) union select 1 --",
            "a = 1 or b = 2",
            "a = b",
            "a = 1; drop table t",
            "a = 1 -- b",
            "a = /* */ 1",
            "a = f()",
            "a = 'x' || 'y'",
            "a = 'x",
            "a = 'x''",
            "a = e'x'",
            "ä = 1",
            "a = 1.",
            "a = 0x1",
            "a = date 1",
            "a in ()",
            "a in ('x'",
            "a in (select 1)",
            "a is",
            "a is not",
            "\"\" = 1",
            "a.b = 1",
            "a = 1 and",
            "a\u{a0}= 1",
            "a == 1",
            "not a = 1",
        ] {
            assert_eq!(Slice::parse(other), None, "{other}");
        }
    }
}
