//! Clusters that do not answer.

use std::fs;
use std::net::TcpListener;

use tempfile::NamedTempFile;

/// Accepts connections and never sends anything: worse than one that rejects them.
pub fn silent() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a port")
}

/// A port without a listener.
pub fn refusing() -> u16 {
    port(&silent())
}

pub fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("an address").port()
}

/// A kubeconfig for this port.
pub fn kubeconfig(port: u16) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: gone\n\
         clusters: [{{name: gone, cluster: {{server: 'https://127.0.0.1:{port}'}}}}]\n\
         users: [{{name: me, user: {{token: t}}}}]\n\
         contexts: [{{name: gone, context: {{cluster: gone, user: me}}}}]\n"
    );
    fs::write(file.path(), text).expect("a file can be written");
    file
}
