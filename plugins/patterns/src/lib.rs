//! Design patterns: react, single_pass, scripted_response.
