//! Document templates and the documents made from them.
/// stub
#[derive(Debug)]
pub struct Documents;
impl Documents {
    /// stub
    pub fn write(&self, key: u64, version: u32, members: &[u8], out: &mut Vec<u8>) {
        out.push(b'{');
        out.extend_from_slice(members);
        if !members.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(format!("\"k\":{key},\"v\":{version}}}").as_bytes());
    }
}
/// stub
#[cfg(test)]
pub fn sample() -> Documents {
    Documents
}
