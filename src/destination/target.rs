//! Which addresses a request may go to.
