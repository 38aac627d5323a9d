mod bytes;
mod said;
