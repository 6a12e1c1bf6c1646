//! What the relay keeps in the database, in domain verbs.
